import type { SessionInfo, SessionSummary, SummaryFilter, SummaryPlace } from '@provost/core'

import type { SummaryState } from './summary-state.ts'

/** Returns the summary of a session from its row in the store's list and the state of its fold. */
export function summaryOf(info: SessionInfo, state: SummaryState): SessionSummary {
  const { title, createdAt, updatedAt, offset, steps, waits, verdicts, spend, forkedFrom } = state
  return Object.freeze({
    ...info,
    updatedAt,
    title,
    createdAt,
    offset,
    steps,
    waits: info.status === 'quarantined' ? [] : waits,
    verdicts: Object.values(verdicts),
    spend: Object.values(spend),
    ...(forkedFrom !== undefined && { forkedFrom }),
  })
}

/** Whether a place of the list comes after another one: it is older. */
export function isAfter(one: SummaryPlace, place: SummaryPlace): boolean {
  return one.updatedAt === place.updatedAt ? one.id < place.id : one.updatedAt < place.updatedAt
}

/** Returns whether a summary matches a filter, except for its place and limit. */
export function matchesSummary(summary: SessionSummary, filter: SummaryFilter): boolean {
  const { q, status, agent, principal, rule, from, to } = filter
  return (
    (status === undefined || summary.status === status) &&
    (agent === undefined || summary.agent === agent) &&
    (principal === undefined || summary.principal === principal) &&
    (rule === undefined || summary.verdicts.some((row) => row.rule === rule)) &&
    (from === undefined || summary.updatedAt >= from) &&
    (to === undefined || summary.updatedAt < to) &&
    (q === undefined || summary.id === q || folded(summary.title).includes(folded(q)))
  )
}

/** Returns a text for searches in any case of letters. */
export function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
