import type { SessionInfo, SessionSummaries, SessionSummary, SessionWait, WaitPlace } from '@provost/core'

import { isAfter, matchesSummary, summaryOf } from './session-summary.ts'
import type { SummaryState } from './summary-state.ts'

interface Row {
  readonly info: SessionInfo
  readonly state: SummaryState
  /** Number of its last change. */
  readonly change: number
  /** Made when it is asked for. */
  summary?: SessionSummary
}

/** Summaries in memory. */
export interface SummaryTable extends SessionSummaries {
  /** Adds a session, or replaces it. The table reads the state when it is asked, so a caller may go on updating it. */
  put(info: SessionInfo, state: SummaryState): void
  remove(sessionId: string): void
}

export function createSummaryTable(): SummaryTable {
  const rows = new Map<string, Row>()
  let changes = 0

  const summaryIn = (row: Row): SessionSummary => (row.summary ??= summaryOf(row.info, row.state))
  const all = (): readonly SessionSummary[] => [...rows.values()].map(summaryIn)

  return {
    put(info, state) {
      rows.set(info.id, { info, state, change: ++changes })
    },
    remove(sessionId) {
      rows.delete(sessionId)
    },

    async list(filter = {}) {
      const { before, limit = Number.POSITIVE_INFINITY } = filter
      const found = all().filter((one) => matchesSummary(one, filter) && (!before || isAfter(one, before)))
      return found.toSorted((a, b) => (isAfter(a, b) ? 1 : -1)).slice(0, limit)
    },

    async get(sessionId) {
      const row = rows.get(sessionId)
      return row && summaryIn(row)
    },

    async waits({ after, limit }) {
      const open: SessionWait[] = []
      for (const { id: sessionId, waits } of all()) {
        for (const wait of waits) if (!after || isLater(wait, after)) open.push({ sessionId, wait })
      }
      return open.toSorted((a, b) => (isLater(a.wait, b.wait) ? 1 : -1)).slice(0, limit)
    },

    async changes(mark) {
      const since = mark === undefined ? changes : Number(mark)
      const changed = [...rows.values()].filter(({ change }) => change > since)
      return { sessions: changed.map(summaryIn), mark: String(changes) }
    },
  }
}

/** Whether a wait comes after a place in the list of open waits. */
function isLater(wait: WaitPlace, place: WaitPlace): boolean {
  return wait.at === place.at ? wait.token > place.token : wait.at > place.at
}
