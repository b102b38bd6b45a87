import type { Entry, EntryBody, KnownKeys, NewEntry, Overrides, Principal, SessionStore } from '@provost/core'
import {
  assertNever,
  checkChoice,
  checkOptions,
  checkOverrides,
  clockOf,
  isForkMark,
  isRecord,
  opensCalls,
  overridesIn,
  positionId,
  ProvostError,
  toJson,
  uuidv7,
} from '@provost/core'

import { checkSessionId } from '../effects/session-id.ts'
import { createdBody, createdId, createdIn, isCreated } from '../kit/created-entry.ts'
import { artifactLogIn } from '../kit/owned-logs.ts'
import { shown } from '../kit/store-error.ts'
import type { GivenResults, UnfinishedTurn } from './open-turn.ts'
import { approvedTokens, cutTurn } from './open-turn.ts'

export type { GivenResults, UnfinishedTurn } from './open-turn.ts'

/** An entry that a fork gets in the same write. */
export type ForkNote = Extract<EntryBody, { type: 'ext' | 'audit' }>

/** Options of {@link forkSession}. */
export interface ForkOptions {
  /**
   * Id of a message: the fork ends with its turn. A number is the offset of an entry: the fork ends with the last turn
   * that had ended there. Default: the last finished turn.
   */
  readonly at?: string | number
  /**
   * What happens with a turn that had not ended at the entry `at`. Default `leave-out`.
   *
   * - `leave-out`: the fork ends with the last turn that had ended.
   * - `end`: the fork ends with that entry. A call without a result gets one that states it.
   * - `continue`: the run is open, as if its process had died there. A server or worker over the store resumes it, or
   *   `session.resume()`: calls that had not started are judged and made again.
   *
   * A call that had started keeps the result that it got later, so that its effect is not repeated.
   */
  readonly unfinished?: UnfinishedTurn
  /** Results of calls of the step at the entry, by call id, in place of the recorded ones. They are labelled untrusted. */
  readonly results?: GivenResults
  /**
   * What replaces parts of the agent in the fork: a policy or instructions, by the names in `overrides` of `resumeSession`
   * and in `forks` of a server. Those of a session also hold in its forks, unless these name others. Default none.
   */
  readonly overrides?: Overrides
  /** Entries of extensions and of the audit trail that the fork gets in the same write. */
  readonly notes?: readonly ForkNote[]
  /** Id of the new session; default a new id. */
  readonly id?: string
  /** Principal of the copied runs. Default none: authority is not copied. */
  readonly principal?: Principal
}

/** A forked session. */
export interface Fork {
  readonly sessionId: string
  /** Offset of the last copied entry of the original. */
  readonly offset: number
}

const optionKeys = {
  at: true,
  unfinished: true,
  results: true,
  overrides: true,
  notes: true,
  id: true,
  principal: true,
} satisfies KnownKeys<ForkOptions>

/**
 * Creates a session from the turns of another one in the same store. Both continue independently. A turn ends where the
 * agent stops; an unfinished turn is left out, unless `unfinished` states otherwise.
 *
 * Messages are copied with their labels, results, views and memos. These are not copied:
 * - waits and their decisions, so that a sticky approval is requested again
 * - principals, grants, usage and the audit trail
 * - the logs of children, whose results are in the messages
 *
 * @throws ProvostError `invalid-option`, `unknown-session`, `unknown-message`, `no-turn` when no turn has ended there, `call-not-in-step`
 * for the result of another call, `session-exists`, `session-busy` when another process writes
 * the new session
 *
 * @example
 * const { sessionId } = await forkSession(store, 'the one so far')
 * await agent.run('And the other way round?', { sessionId })
 *
 * @example
 * // What the agent would have done with another result of its third call:
 * await forkSession(store, 'ann-17', { at: 40, unfinished: 'continue', results: { [callId]: { stock: 0 } } })
 */
export async function forkSession(store: SessionStore, sessionId: string, options: ForkOptions = {}): Promise<Fork> {
  checkOptions(options, optionKeys, 'forkSession')
  const { at, unfinished = 'leave-out', results = {}, notes = [], principal } = options
  checkOverrides(options.overrides, 'forkSession')
  checkChoice(unfinished, ['leave-out', 'end', 'continue'], 'unfinished', 'forkSession')
  const id = checkSessionId(options.id ?? uuidv7())
  const entries: Entry[] = []
  for await (const entry of store.read(sessionId)) entries.push(entry)
  if (entries.length === 0) throw unknownSession(sessionId)
  const offset = endOf(entries, sessionId, { at, unfinished })
  const turn = cutTurn(entries, offset, unfinished, results)
  const copied = [...copyOf(turn.kept, principal), ...turn.closing]
  const [first] = entries
  if (first && isCreated(first)) {
    const { agent, repairs } = createdIn(first)
    const body = createdBody({ agent, repairs, ...(principal && { principal }) })
    copied.unshift({ ...placeOf(first), runId: id, id: createdId(id), ...body })
  }
  const last = entries[offset - 1]
  if (last) {
    const mark = { ...placeOf(last), id: `${id}/forked`, type: 'ext', name: 'provost', key: 'forked-from' } as const
    const overrides = overridesOf(entries, options.overrides)
    copied.push({ ...mark, data: { sessionId, offset, ...(overrides && { overrides: toJson(overrides) }) } })
    const now = clockOf(store).now()
    for (const [n, note] of notes.entries())
      copied.push({ ...placeOf(last), at: now, id: `${id}/forked/${n}`, ...note })
  }
  const lease = await store.lease(id, uuidv7(), 60_000)
  if (lease === 'busy')
    throw new ProvostError('session-busy', `Another process writes session ${shown(id)}.`, { hint: 'Use another id.' })
  try {
    await store.append(id, copied, { after: 0, fence: lease.fence })
  } catch (error) {
    throw isRecord(error) && error['code'] === 'wrong-offset' ? sessionExists(id) : error
  } finally {
    await store.release(id, lease.fence)
  }
  return { sessionId: id, offset }
}

/** Returns the overrides of a fork: its own, and those of its original that it does not replace. */
function overridesOf(entries: readonly Entry[], given: Overrides = {}): Overrides | undefined {
  const mark = entries.findLast(isForkMark)
  const { prompt, promptText, ...rest } = (mark && overridesIn(mark.data)) ?? {}
  const isReplaced = given.prompt !== undefined || given.promptText !== undefined
  const kept = { ...(prompt !== undefined && { prompt }), ...(promptText !== undefined && { promptText }) }
  const overrides = { ...rest, ...(isReplaced ? {} : kept), ...given }
  return Object.values(overrides).some((value) => value !== undefined) ? overrides : undefined
}

/** Returns the number of entries that the fork copies. */
function endOf(
  entries: readonly Entry[],
  sessionId: string,
  { at, unfinished }: { readonly at: string | number | undefined; readonly unfinished: UnfinishedTurn },
): number {
  if (typeof at === 'number' && !(Number.isInteger(at) && at >= 1 && at <= entries.length)) {
    throw new ProvostError(
      'invalid-option',
      `forkSession got ${at} as "at"; session ${shown(sessionId)} has entries 1 to ${entries.length}.`,
      {
        hint: 'Pass the offset of one of its entries, or leave "at" out for its end.',
      },
    )
  }
  if (unfinished === 'leave-out') return endOfTurn(entries, sessionId, at)
  if (typeof at === 'string') {
    throw new ProvostError('invalid-option', `forkSession got "unfinished" with the message ${shown(at)} as "at".`, {
      hint: 'Pass the offset of an entry as "at".',
    })
  }
  return at ?? entries.length
}

/** Returns the number of entries up to the end of the turn that holds a message. */
function endOfTurn(entries: readonly Entry[], sessionId: string, at: string | number | undefined): number {
  const ends = turnEnds(entries)
  const before = typeof at === 'number' ? at : entries.length
  const holder = typeof at === 'string' ? entries.findIndex((entry) => holds(entry, at)) : undefined
  if (holder === -1) {
    throw new ProvostError('unknown-message', `Session ${shown(sessionId)} has no message ${shown(String(at))}.`, {
      hint: 'Pass the id of one of its messages as "at".',
    })
  }
  const end = holder === undefined ? ends.findLast((one) => one <= before) : ends.find((one) => one > holder)
  if (end === undefined) {
    throw new ProvostError('no-turn', `No turn of session ${shown(sessionId)} has ended there.`, {
      hint: 'Wait for the run to end, or fork at an earlier message.',
    })
  }
  return end
}

/**
 * Returns the ends of turns, as numbers of entries. A turn ends with its run, before a message that was queued after an
 * answer, and after entries between runs: an imported history, an edit of the model's view.
 */
function turnEnds(entries: readonly Entry[]): readonly number[] {
  const ends: number[] = []
  const open = new Set<string>()
  let answered = false
  let running = false
  for (const [index, entry] of entries.entries()) {
    if (entry.type === 'run') {
      if (!running && index > 0) ends.push(index)
      running = entry.op !== 'ended'
    }
    if (entry.type === 'message' && opensCalls(entry)) {
      for (const part of entry.message.content) {
        if (part.type === 'tool-call' && !part.providerExecuted) open.add(part.callId)
      }
      answered = open.size === 0 && entry.held === undefined
    } else if (entry.type === 'message') {
      if (answered && entry.via === 'queue') ends.push(index)
      answered = false
    } else if (entry.type === 'call' && entry.op === 'settled') {
      open.delete(entry.callId)
    } else if (entry.type === 'run' && entry.op === 'ended') {
      ends.push(index + 1)
      answered = false
      open.clear()
    }
  }
  if (!running) ends.push(entries.length)
  return ends
}

function holds(entry: Entry, at: string): boolean {
  if (entry.type === 'message') return entry.message.id === at
  if (entry.type === 'view') return entry.with.some((message) => message.id === at)
  // A step's tool message is folded from the results of its calls.
  const settled = entry.type === 'call' && entry.op === 'settled'
  return settled && positionId(entry.runId, entry.step, 'message', 'tool') === at
}

function copyOf(entries: readonly Entry[], principal: Principal | undefined): NewEntry[] {
  const approved = approvedTokens(entries)
  const copied: NewEntry[] = []
  for (const entry of entries) {
    const { offset: _, ...rest } = entry
    switch (rest.type) {
      case 'wait':
      case 'resolved':
      case 'attempt':
      case 'child':
      case 'audit':
        break
      case 'message': {
        const { held, ...message } = rest
        // An answer that was held back is in the history only once it was let through.
        if (held === undefined || approved.has(held)) copied.push(message)
        break
      }
      case 'run':
        if (rest.op === 'started') {
          const { principal: __, grant: ___, trace: ____, ...start } = rest
          copied.push({ ...start, ...(principal && { principal }) })
        } else if (rest.op === 'ended') copied.push(rest)
        break
      case 'call':
      case 'handoff':
      case 'view':
      case 'tail':
      case 'memo':
        copied.push(rest)
        break
      case 'ext':
        // Links of an audit cover entries that are not copied. Others name the owner of the original, or its artifact log.
        if (rest.name === 'audit-log' || isCreated(rest) || artifactLogIn(rest) !== undefined) break
        copied.push(rest)
        break
      default:
        assertNever(rest)
    }
  }
  return copied
}

function placeOf({ at, runId, step, agent, v }: Entry): Pick<NewEntry, 'at' | 'runId' | 'step' | 'agent' | 'v'> {
  return { at, runId, step, agent, v }
}

function unknownSession(sessionId: string): ProvostError {
  return new ProvostError('unknown-session', `The store has no session ${shown(sessionId)}.`, {
    hint: 'Check its id, or list the sessions of the store.',
  })
}

function sessionExists(id: string): ProvostError {
  return new ProvostError('session-exists', `Session ${shown(id)} already exists.`, { hint: 'Use another id.' })
}
