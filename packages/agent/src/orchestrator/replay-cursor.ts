import type { Entry, EntryOf, Message } from '@provost/core'
import { ProvostError, assertNever, positionId, purposeOf } from '@provost/core'

import { reduceEntry, foldLog } from '../reducers/reducer.ts'
import type { SessionState } from '../types/session-state.ts'

/**
 * Reads the log of a run from its beginning while the orchestrator repeats its calls. At the end of the log the cursor
 * is the log itself and adds no cost.
 */
export interface ReplayCursor {
  /** The state of the whole log. */
  readonly log: SessionState
  /** The state at the read position. */
  readonly state: SessionState
  /** Whether the whole log was read, so that new commands have to be executed. */
  readonly atEnd: boolean
  /** The offset of the last entry read. */
  readonly offset: number
  /** Reads to the next answer of the model that counts; undefined at the end of the log. */
  answer(): Message | undefined
  /** Reads until no call is open; false if the log lacks a result. */
  settled(): boolean
  /** Reads to the orchestrator's message with this key; undefined if it is not recorded. */
  messageOf(key: string): Message | undefined
  /** Reads to the next input after an answer; false if there is no more. */
  nextInput(): boolean
}

/** Returns the id of an orchestrator's message. `key` counts the calls of the orchestrator and its messages in each. */
export function orchestratorMessageId(state: SessionState, key: string): string {
  return positionId(state.run?.id ?? '', state.run?.step ?? 0, 'saying', key)
}

/** Opens a cursor at the beginning of a run's log. */
export function openReplayCursor(log: SessionState): ReplayCursor {
  const runId = log.run?.id
  let at = log.entries.findLastIndex((entry) => (entry.type === 'run' && entry.op === 'started') || isTakeover(entry))
  // Skips the entries recorded before the first ask.
  while (at < log.entries.length && isPreface(log.entries[at])) at++
  let state = at < log.entries.length ? foldLog(log.entries.slice(0, at)) : log

  const isOver = (): boolean => state === log
  function read(): Entry | undefined {
    const entry = isOver() ? undefined : log.entries[at]
    if (!entry) return undefined
    reduceEntry(state, entry)
    at++
    if (at >= log.entries.length) state = log
    return entry
  }

  const isSaying = (entry: Entry): entry is EntryOf<'message'> =>
    entry.type === 'message' && entry.runId === runId && purposeOf(entry) === 'orchestrator'

  /** Returns the answer that becomes final with an entry. */
  function answerOf(entry: Entry, candidate: Message | undefined): Message | undefined {
    const { run } = state
    if (entry.type === 'message' && entry.via === 'model' && entry.held === undefined) {
      return entry.message.role === 'assistant' && !isRepaired(entry.message) ? entry.message : undefined
    }
    const approved = candidate && !run?.unapprovedAnswer && (run?.answer === candidate || (run?.openCalls ?? 0) > 0)
    return entry.type === 'resolved' && approved ? candidate : undefined
  }

  /** Returns whether a repair request follows the answer: as a message, or as the results of its calls. */
  function isRepaired({ content }: Message): boolean {
    const follower = log.entries[at]
    if (follower?.type === 'message') return isRepair(follower)
    if (follower?.type !== 'call' || follower.op !== 'settled' || follower.via !== 'hook') return false
    return follower.outcome === 'skipped' && content.some((part) => part.type === 'tool-call')
  }

  return {
    log,
    get state() {
      return state
    },
    get atEnd() {
      return isOver()
    },
    get offset() {
      return isOver() ? log.entries.length : at
    },
    answer() {
      for (;;) {
        const candidate = state.run?.unapprovedAnswer?.message
        const entry = read()
        if (!entry) return undefined
        if (isSaying(entry)) throw diverged(log)
        const answer = answerOf(entry, candidate)
        if (answer) return answer
      }
    },
    settled() {
      while ((state.run?.openCalls ?? 0) > 0) if (!read()) return false
      return true
    },
    messageOf(key) {
      for (;;) {
        const candidate = state.run?.unapprovedAnswer?.message
        const entry = read()
        if (!entry) return undefined
        if (isSaying(entry) && entry.id === positionId(entry.runId, entry.step, 'saying', key)) return entry.message
        if (isSaying(entry) || answerOf(entry, candidate)) throw diverged(log)
      }
    },
    nextInput() {
      let interrupted = false
      for (;;) {
        const candidate = state.run?.unapprovedAnswer?.message
        const entry = read()
        if (!entry) return false
        const spoke = isSaying(entry) || answerOf(entry, candidate) !== undefined
        if (spoke && !interrupted) throw diverged(log)
        if (entry.type !== 'message') continue
        interrupted ||= entry.message.role === 'error' || entry.message.role === 'aborted'
        if (entry.via === 'queue' || (entry.via === 'steer' && !interrupted)) break
      }
      // Inputs queued together were taken together.
      while (!isOver() && isQueued(log.entries[at])) read()
      return true
    },
  }
}

/** Returns whether an entry makes its agent the active one; its orchestrator begins there. */
function isTakeover(entry: Entry): boolean {
  return entry.type === 'handoff' && entry.mode === 'transfer' && entry.denied === undefined
}

/** Returns whether an entry may precede the first ask of the orchestrator. */
function isPreface(entry: Entry | undefined): boolean {
  if (!entry) return false
  switch (entry.type) {
    case 'run':
      return entry.op === 'started'
    case 'message':
      return entry.via === 'input' || entry.message.role === 'system' || purposeOf(entry) === 'handoff-note'
    case 'handoff':
    case 'tail':
    case 'memo':
    case 'ext':
    case 'audit':
    // An input that the run takes from the inbox.
    case 'resolved':
      return true
    case 'attempt':
      return entry.purpose === 'generated'
    case 'call':
    case 'wait':
    case 'child':
    // The first step edits the view after the orchestrator has asked for it.
    case 'view':
      return false
    default:
      return assertNever(entry)
  }
}

function isQueued(entry: Entry | undefined): boolean {
  return entry?.type === 'tail' || (entry?.type === 'message' && entry.via === 'queue')
}

function isRepair(entry: EntryOf<'message'>): boolean {
  const purpose = purposeOf(entry)
  return purpose === 'repair' || purpose === 'output-repair'
}

/** Returns the error of an orchestrator whose commands differ from those that its log records. */
export function diverged(log: SessionState): ProvostError {
  return new ProvostError('orchestrator-diverged', `The orchestrator of ${log.agent} diverged from its log.`, {
    hint: 'Resume a run with the orchestrator it began with. Read random values, time and external data in run.memo.',
  })
}
