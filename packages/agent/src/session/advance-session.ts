import type { DueTime, PartOrigin, Rest, RunResult, SessionStore, Timestamp } from '@provost/core'

import { reportRest } from '../children/part-session.ts'
import { abortsLeft } from '../inbox/abort-delivery.ts'
import { firstInput } from '../inbox/drain.ts'
import type { Recipient } from '../messages/read-input.ts'
import { expiredWaits, nextDeadline } from '../state/wait-deadlines.ts'
import type { Inbox } from '../types/inputs.ts'
import type { SessionState } from '../types/session-state.ts'
import type { SessionRest } from '../types/session.ts'
import type { SessionRuns } from './session-runs.ts'

/** The session to advance. */
export interface AdvanceSetup {
  readonly id: string
  readonly store: SessionStore
  readonly agent: Recipient
  readonly state: SessionState
  readonly runs: SessionRuns<unknown>
  readonly inbox: Inbox
  /** Of the session of a child whose parent runs elsewhere. */
  readonly origin: PartOrigin | undefined
}

/** Returns what a session does without news. */
export function restOf(state: SessionState, runs: Pick<SessionRuns<unknown>, 'activeRun' | 'openRun'>): SessionRest {
  if (runs.activeRun()) return 'running'
  const run = runs.openRun()
  if (!run) return 'idle'
  if (run.status === 'running') return 'crashed'
  return run.yielded ? 'yielded' : 'waits'
}

/** Advances a session until it rests: see `session.advance()`. */
export async function advanceSession(setup: AdvanceSetup): Promise<Rest> {
  const { id, store, agent, state, runs, inbox, origin } = setup
  let result = await activeRuns(runs)
  let next: DueTime | undefined
  // Another process took the input of the run: what it left, and answers since, may be for this one.
  while (!result || isTakenElsewhere(result)) {
    // In this order: each delivery that was read is considered with a log that is not older.
    await inbox.sync()
    await runs.refresh()
    startDue(setup)
    if (!runs.activeRun()) {
      // A claim hides the session, and there is nothing to do.
      const rest = restOf(state, runs)
      next = {
        ...deadlineOf(state),
        seen: seenAt(origin && state.run ? 'waits' : rest, inbox, agent),
        after: state.offset,
      }
      break
    }
    result = await activeRuns(runs)
  }
  // The process whose run it was may have died before it did.
  if (next && origin) await reportRest({ store, id, origin, state, seen: inbox.lastRead() })
  if (next) await store.setDue?.(id, next)
  else if (result?.status === 'failed') {
    const { code } = result.error
    if (code === 'session-busy' || code === 'fenced') {
      const { until = state.clock.now() } = await store.leaseState(id)
      return { rest: 'busy', until }
    }
    // Its end is not in the log, so the run stays open.
    if (runs.openRun()) throw result.error
  }
  const rest = restOf(state, runs)
  if (rest === 'waits') return { rest, ...deadlineOf(state) }
  return { rest: rest === 'yielded' ? rest : 'done' }
}

function isTakenElsewhere(result: RunResult<unknown>): boolean {
  return result.status === 'failed' && result.error.code === 'already-taken'
}

function deadlineOf(state: SessionState): { readonly at?: Timestamp } {
  const deadline = nextDeadline(state)
  return Number.isFinite(deadline) ? { at: deadline } : {}
}

/** Waits until no run is active. @returns the result of the last one; undefined if none was active. */
async function activeRuns(runs: SessionRuns<unknown>): Promise<RunResult<unknown> | undefined> {
  let last: RunResult<unknown> | undefined
  for (let active = runs.activeRun(); active; active = runs.activeRun()) last = await active.result
  return last
}

/** Resumes the open run if it can advance, or starts one with unread input. */
function startDue({ state, runs, inbox }: AdvanceSetup): void {
  if (runs.activeRun() || runs.isClosed()) return
  const rest = restOf(state, runs)
  if (rest === 'idle') return runs.startNext()
  const runId = state.run?.id ?? ''
  const isAborted = inbox.hasAbort(runId) || abortsLeft(state).length > 0
  const hasNews = runs.hasDueWork() || expiredWaits(state).length > 0 || isAborted
  if (rest !== 'waits' || hasNews) runs.resume({})
}

/** Returns the last delivery that needs no further look. */
function seenAt(rest: SessionRest, inbox: Inbox, agent: Recipient): string {
  return rest === 'idle' && firstInput(inbox, agent) ? inbox.lastTaken() : inbox.lastRead()
}
