import type { Decisions, Json, Scrubber, SessionStore } from '@provost/core'
import { checkArguments, scrubAnswer } from '@provost/core'
import { checkSessionId } from '@provost/sessions'

import { checkDecisions } from '../definition/known-options.ts'
import { expandBatches } from '../entries/batch-decision.ts'
import { dueDecisions, resolvedEntries } from '../entries/decision-entries.ts'
import { readLog } from '../log/log-snapshot.ts'
import { foldLog } from '../reducers/reducer.ts'
import { alreadyDecided, unknownSession, waitExpired } from '../result/session-error.ts'
import { expiredWaits } from '../state/wait-deadlines.ts'
import type { Inbox } from '../types/inputs.ts'
import type { SessionState } from '../types/session-state.ts'
import type { SessionRuns } from './session-runs.ts'

/**
 * Delivers decisions to the waiting run, in this or another process. A suspended run resumes.
 *
 * @throws ProvostError `unknown-wait`, `already-decided`, `wait-expired`
 */
export async function deliverDecisions(
  decisions: Decisions,
  state: SessionState,
  runs: SessionRuns<unknown>,
  inbox: Inbox,
  scrubber: Scrubber,
): Promise<void> {
  if (!runs.activeRun()) await runs.refresh()
  const underway = runs.activeRun()
  const { due = {}, early } = underway ? dueDecisions(state, decisions) : { due: decisions }
  // The active run may reach the matching waits later.
  if (early && underway) await underway.resolve(early)
  const put = (token: string, value: Json, by: string): Promise<'accepted' | 'duplicate'> =>
    inbox.put(token, scrubAnswer(scrubber, value), by)
  const delivered = await deliverDue(due, state, put)
  // If another process has the run, the inbox delivers the decisions there.
  if (!runs.activeRun() && runs.openRun()) runs.resume({})
  reportLate(delivered)
}

/**
 * Records decisions on the waits of a session in its store, without its agent. The process with its run takes them from
 * there. A suspended run continues when a process with its agent resumes it.
 *
 * A caller that can write to the store may decide: check its rights before.
 *
 * @param decisions as for `session.resolve`; ids come from `pendingWork(foldLog(entries))`.
 * @throws ProvostError `unknown-session`, `unknown-wait`, `already-decided`, `wait-expired` (the other decisions are
 * delivered)
 *
 * @example
 * await resolveWaits(store, sessionId, { approvals: [{ id, decision: 'approve', by: 'ann' }] })
 */
export async function resolveWaits(store: SessionStore, sessionId: string, decisions: Decisions): Promise<void> {
  checkArguments('resolveWaits', [store, sessionId, decisions], ['object', 'text', 'object'])
  checkDecisions(decisions, 'resolveWaits')
  const state = foldLog(await readLog(store, checkSessionId(sessionId)))
  if (state.entries.length === 0) throw unknownSession(sessionId)
  reportLate(await deliverDue(decisions, state, (token, value, by) => store.deliver(sessionId, token, value, by)))
}

/** The waits whose decisions came too late: after the deadline, and after an earlier decision. */
interface Late {
  readonly expired: readonly string[]
  readonly decided: number
}

async function deliverDue(
  due: Decisions,
  state: SessionState,
  put: (token: string, value: Json, by: string) => Promise<'accepted' | 'duplicate'>,
): Promise<Late> {
  const answers = resolvedEntries(state, due).entries.flatMap((entry) => (entry.type === 'resolved' ? [entry] : []))
  const over = new Set(expiredWaits(state).map(({ token }) => token))
  const inTime = answers.filter(({ token }) => !over.has(token))
  const outcomes = await Promise.all(inTime.map(({ token, value, by }) => put(token, value, by)))
  const accepted = outcomes.filter((outcome) => outcome === 'accepted').length
  const expired = answers.flatMap(({ token }) => (over.has(token) ? [token] : []))
  return { expired, decided: countOf(expandBatches(state, due)) - expired.length - accepted }
}

/** @throws ProvostError `wait-expired`, `already-decided` */
function reportLate({ expired, decided }: Late): void {
  if (expired.length > 0) throw waitExpired(expired)
  if (decided > 0) throw alreadyDecided(decided)
}

function countOf({ approvals, batches, toolResults, uncertain, inputs }: Decisions): number {
  return [approvals, batches, toolResults, uncertain, inputs].reduce((sum, list) => sum + (list?.length ?? 0), 0)
}
