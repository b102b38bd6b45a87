import type { GuestCall } from '../engine/bridge-frame.ts'
import type { Limits } from '../worker/limits.ts'
import type { Reply } from './call-queue.ts'
import type { Journal, JournalEntry } from './journal.ts'
import { anySeed, argsHash, digest, journalOf, seedOf } from './journal.ts'
import type { SandboxError } from './sandbox-error.ts'
import { errorOf } from './sandbox-error.ts'
import type { SandboxRunOptions } from './sandbox-options.ts'

/** Largest journal that is kept, in characters of results. */
const keptLength = 32 << 20

/** The journal of a running script: the recorded calls, the calls it makes, and the results it receives. */
export interface RunJournal {
  readonly seed: Journal['seed']
  readonly startedAt: number
  /** The results that the script received, in order. */
  readonly delivered: readonly JournalEntry[]
  /** Every result is still available, so that the run can be replayed. */
  readonly isComplete: boolean
  /**
   * Admits a call. Returns true when the call must be made, false when its result is recorded, or the error that
   * forbids it.
   */
  admit(tool: string, call: GuestCall): boolean | SandboxError
  /** The result of a call as the script will receive it; undefined for a call that the script did not make. */
  entryOf(reply: Reply): JournalEntry | undefined
  recordDelivery(entry: JournalEntry): void
  /** Drops the last results and keeps only that they were delivered. */
  forget(count: number): void
  /** The journal to store, with these entries. */
  written(entries: readonly JournalEntry[]): Journal
}

/** Throws `invalid-journal` when `given` is invalid or belongs to another script. */
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
  const delivered: JournalEntry[] = [...before.entries]
  const recorded = new Map(delivered.map((entry) => [entry.id, entry]))
  const issued: { tool: string; argsHash: string }[] = []
  let ofSource: string | undefined
  let deliveredLength = 0

  return {
    seed,
    startedAt,
    delivered,
    get isComplete() {
      return deliveredLength <= keptLength
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
          `Call ${id} was ${earlier.tool} and is now ${tool}${earlier.tool === tool ? ' with other arguments' : ''}: the script cannot resume from its journal.`,
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
      return known && { id, ok, json, at: Math.max(delivered.at(-1)?.at ?? startedAt, now()), ...known }
    },
    recordDelivery(entry) {
      delivered.push(entry)
      deliveredLength += entry.json.length
    },
    forget(count) {
      for (const entry of delivered.splice(-count)) delivered.push({ ...entry, json: '' })
    },
    written(entries) {
      ofSource ??= digest(source)
      return { v: 1, source: ofSource, seed, startedAt, entries }
    },
  }
}
