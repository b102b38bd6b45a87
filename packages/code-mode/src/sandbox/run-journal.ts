import type { GuestCall } from '../engine/bridge-frame.ts'
import type { Limits } from '../worker/limits.ts'
import type { Reply } from './call-queue.ts'
import type { Journal, JournalEntry } from './journal.ts'
import { anySeed, argsHash, digest, journalOf, seedOf } from './journal.ts'
import type { SandboxError } from './sandbox-error.ts'
import { errorOf } from './sandbox-error.ts'
import type { SandboxRunOptions } from './sandbox-options.ts'

/** The journal of a script that heard more than this is not kept, in characters. */
const keptLength = 32 << 20

/** The journal of a run that goes on: what was recorded before, the calls the script makes, and what it hears of them. */
export interface RunJournal {
  readonly seed: Journal['seed']
  readonly startedAt: number
  /** What the script heard, in that order. */
  readonly heard: readonly JournalEntry[]
  /** All it heard is at hand: it can be told again. */
  readonly isWhole: boolean
  /** Takes a call: whether it is to be made, since the script has not heard of it, or why it may not be. */
  admit(tool: string, call: GuestCall): boolean | SandboxError
  /** The result of a call as the script will hear it; nothing of a call that it did not make. */
  entryOf(reply: Reply): JournalEntry | undefined
  hear(entry: JournalEntry): void
  /** Keeps of the last results only that they were heard. */
  forget(count: number): void
  /** What can be kept, with these entries. */
  written(entries: readonly JournalEntry[]): Journal
}

/** Throws `invalid-journal` where the one that is `given` is none, or another script's. */
export function runJournal(
  source: string,
  { journal: given, identity }: Pick<SandboxRunOptions, 'journal' | 'identity'>,
  limits: Limits,
): RunJournal {
  const now = () => identity?.at ?? Date.now()
  const before =
    given === undefined
      ? { seed: identity ? seedOf(identity.seed) : anySeed(), startedAt: now(), entries: [] }
      : journalOf(given, source)
  const { seed, startedAt } = before
  const heard: JournalEntry[] = [...before.entries]
  const recorded = new Map(heard.map((entry) => [entry.id, entry]))
  const issued: { tool: string; argsHash: string }[] = []
  let ofSource: string | undefined
  let heardLength = 0

  return {
    seed,
    startedAt,
    heard,
    get isWhole() {
      return heardLength <= keptLength
    },
    admit(tool, { id, args }) {
      if (id > issued.length + 1) return errorOf('engine-failed', limits)
      const hash = argsHash(tool, args)
      const known = issued[id - 1]
      const earlier = known ?? recorded.get(id)
      if (earlier && (earlier.tool !== tool || earlier.argsHash !== hash)) {
        return errorOf(
          'replay-diverged',
          limits,
          `Call ${id} was ${earlier.tool} and is now ${tool}${earlier.tool === tool ? ' with other arguments' : ''}: the script cannot go on from what was recorded.`,
        )
      }
      if (known) return false
      if (issued.length >= limits.toolCalls) {
        return errorOf('call-limit', limits, `More than ${limits.toolCalls} tool calls.`)
      }
      issued.push({ tool, argsHash: hash })
      return !recorded.has(id)
    },
    entryOf({ call: { id }, ok, json }) {
      const known = issued[id - 1]
      return known && { id, ok, json, at: Math.max(heard.at(-1)?.at ?? startedAt, now()), ...known }
    },
    hear(entry) {
      heard.push(entry)
      heardLength += entry.json.length
    },
    forget(count) {
      for (const entry of heard.splice(-count)) heard.push({ ...entry, json: '' })
    },
    written(entries) {
      ofSource ??= digest(source)
      return { v: 1, source: ofSource, seed, startedAt, entries }
    },
  }
}
