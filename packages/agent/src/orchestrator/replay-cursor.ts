import type { Entry, Message } from '@provost/core'
import { ProvostError, positionId } from '@provost/core'

import { reduceEntry, foldLog } from '../reducers/reducer.ts'
import type { SessionState } from '../types/session-state.ts'

/**
 * What the log knows of a run already, read once more from its beginning while the orchestrator asks for it again. At the
 * end of the log it is the log itself, and costs nothing any more.
 */
export interface ReplayCursor {
  /** All of it. */
  readonly log: SessionState
  /** The run at the point that was read up to. */
  readonly state: SessionState
  /** Whether all was read: what is asked for now has to be done. */
  readonly over: boolean
  /** Of the last entry that was read. */
  readonly offset: number
  /** The next answer of the model that counts; undefined where the log has none any more. */
  answer(): Message | undefined
  /** Reads on until no call is open; false where the log does not know all results yet. */
  settled(): boolean
  /** Reads on to what the orchestrator said; undefined where it has not said it yet. */
  said(key: string): Message | undefined
  /** Reads on to the next input that came behind an answer; false where there is none. */
  turned(): boolean
}

/** The id of what an orchestrator says: `key` counts its calls and what it says in each. */
export function orchestratorMessageId(state: SessionState, key: string): string {
  return positionId(state.run?.id ?? '', state.run?.step ?? 0, 'saying', key)
}

/** Reads the log of a run from its beginning. */
export function openReplayCursor(log: SessionState): ReplayCursor {
  const runId = log.run?.id
  let at = log.entries.findLastIndex((entry) => (entry.type === 'run' && entry.op === 'started') || isTakeover(entry))
  // What stands there before anybody was asked for anything.
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

  const isSaying = ({ type, id }: Entry): boolean =>
    type === 'message' && runId !== undefined && id.startsWith(runId) && id.includes('/saying/')

  /** The answer that an entry made count. */
  function answerOf(entry: Entry, candidate: Message | undefined): Message | undefined {
    const { run } = state
    if (entry.type === 'message' && entry.via === 'model' && entry.held === undefined) {
      return entry.message.role === 'assistant' && !isRepaired(entry.message) ? entry.message : undefined
    }
    const approved = candidate && !run?.candidate && (run?.answer === candidate || (run?.openCalls ?? 0) > 0)
    return entry.type === 'resolved' && approved ? candidate : undefined
  }

  /** A complaint stands right behind what it is about: in a message of its own, or as the results of its calls. */
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
    get over() {
      return isOver()
    },
    get offset() {
      return isOver() ? log.entries.length : at
    },
    answer() {
      for (;;) {
        const candidate = state.run?.candidate?.message
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
    said(key) {
      for (;;) {
        const candidate = state.run?.candidate?.message
        const entry = read()
        if (!entry) return undefined
        if (entry.type === 'message' && isSaying(entry) && entry.id.endsWith(`/${key}`)) return entry.message
        if (isSaying(entry) || answerOf(entry, candidate)) throw diverged(log)
      }
    },
    turned() {
      let interrupted = false
      for (;;) {
        const candidate = state.run?.candidate?.message
        const entry = read()
        if (!entry) return false
        const spoke = isSaying(entry) || answerOf(entry, candidate) !== undefined
        if (spoke && !interrupted) throw diverged(log)
        if (entry.type !== 'message') continue
        interrupted ||= entry.message.role === 'error' || entry.message.role === 'aborted'
        if (entry.via === 'queue' || (entry.via === 'steer' && !interrupted)) break
      }
      // What was queued together came in together.
      while (!isOver() && isQueued(log.entries[at])) read()
      return true
    },
  }
}

/** An orchestrator begins where its agent took over. */
function isTakeover(entry: Entry): boolean {
  return entry.type === 'handoff' && entry.mode === 'transfer' && entry.denied === undefined
}

function isPreface(entry: Entry | undefined): boolean {
  switch (entry?.type) {
    case 'run':
      return entry.op === 'started'
    case 'message':
      return entry.via === 'input' || entry.message.role === 'system' || entry.id.endsWith('/note')
    case 'handoff':
    case 'tail':
    case 'memo':
    case 'ext':
    case 'audit':
      return true
    default:
      return false
  }
}

function isQueued(entry: Entry | undefined): boolean {
  return entry?.type === 'tail' || (entry?.type === 'message' && entry.via === 'queue')
}

function isRepair({ runId, step, id, via }: Extract<Entry, { type: 'message' }>): boolean {
  if (via !== 'system') return false
  return id === positionId(runId, step, 'message', 'repair') || id === positionId(runId, step, 'message', 'output')
}

function diverged(log: SessionState): ProvostError {
  return new ProvostError('orchestrator-diverged', `The orchestrator of ${log.agent} went another way than its log.`, {
    hint: 'Resume a run with the orchestrator it began with; let chance, time and the outside in through run.memo.',
  })
}
