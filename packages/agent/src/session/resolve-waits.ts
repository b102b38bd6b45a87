import type { Decisions, NewEntry, Scrubber } from '@provost/core'
import { scrubAnswer } from '@provost/core'

import { expandBatches } from '../entries/batch-decision.ts'
import { dueDecisions, resolvedEntries } from '../entries/decision-entries.ts'
import { alreadyDecided, waitExpired } from '../result/session-error.ts'
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
  const entries = resolvedEntries(state, due).entries
  const rows = expandBatches(state, due)
  const over = new Set(expiredWaits(state).map(({ token }) => token))
  const inTime = entries.filter((entry) => entry.type === 'resolved' && !over.has(entry.token))
  const answers = inTime.flatMap((entry) =>
    entry.type === 'resolved' ? [inbox.put(entry.token, scrubAnswer(scrubber, entry.value), entry.by)] : [],
  )
  const accepted = (await Promise.all(answers)).filter((outcome) => outcome === 'accepted').length
  const tooLate = entries.length - inTime.length
  const late = countOf(rows) - tooLate - accepted
  // If another process has the run, the inbox delivers the decisions there.
  if (!runs.activeRun() && runs.openRun()) runs.resume({})
  if (tooLate > 0) throw waitExpired(entries.flatMap((one) => (inTime.includes(one) ? [] : [tokenOf(one)])))
  if (late > 0) throw alreadyDecided(late)
}

function tokenOf(entry: NewEntry): string {
  return entry.type === 'resolved' ? entry.token : entry.id
}

function countOf({ approvals, batches, toolResults, uncertain, inputs }: Decisions): number {
  return [approvals, batches, toolResults, uncertain, inputs].reduce((sum, list) => sum + (list?.length ?? 0), 0)
}
