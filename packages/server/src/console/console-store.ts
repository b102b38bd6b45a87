import { addUsage } from '@provost/core'
import type { SessionStore, SessionSummaries, SessionSummary, Usage } from '@provost/core'
import { indexSummaries } from '@provost/sessions'

import type { ConsoleSession } from '../console-answers/console-answer.ts'

/** What the console reads: logs, and summaries of sessions. */
export interface ConsoleStore {
  readonly store: SessionStore
  readonly summaries: SessionSummaries
}

/** A store that keeps no summaries gets an index in memory at the first request. */
export function consoleStore(store: SessionStore): ConsoleStore {
  let made: SessionSummaries | undefined
  return {
    store,
    get summaries() {
      return (made ??= store.summaries ?? indexSummaries(store))
    },
  }
}

/** Open waits that a row names. */
const mostWaits = 100

/** Returns a summary as a row of the list. */
export function sessionRow(summary: SessionSummary): ConsoleSession {
  const { id, title, agent, principal, status, createdAt, updatedAt, steps, forkedFrom } = summary
  let usage: Usage = {}
  let cost = 0
  let unpriced = false
  for (const row of summary.spend) {
    usage = addUsage(usage, row.usage)
    cost += row.cost
    if (row.unpriced) unpriced = true
  }
  const verdicts = { allowed: 0, asked: 0, approved: 0, refused: 0, denied: 0, declassified: 0, flagged: 0 }
  for (const { rule: _, toolName: __, ...row } of summary.verdicts) {
    verdicts.allowed += row.allowed
    verdicts.asked += row.asked
    verdicts.approved += row.approved
    verdicts.refused += row.refused
    verdicts.denied += row.denied
    verdicts.declassified += row.declassified
    verdicts.flagged += row.flagged
  }
  return {
    ...{ id, title, agent, status, createdAt, updatedAt, steps, usage, cost, unpriced, verdicts },
    waits: summary.waits.slice(0, mostWaits).map(({ token }) => token),
    ...(principal !== undefined && { principal }),
    ...(forkedFrom !== undefined && { forkedFrom }),
  }
}
