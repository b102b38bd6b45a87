import type { SessionInfo, SessionStore, SessionSummaries, SessionSummary, SessionWait } from '@provost/core'
import { clockOf } from '@provost/core'

import { isAfter, matchesSummary, summaryOf } from './session-summary.ts'
import type { SummaryState } from './summary-state.ts'
import { addToSummary, emptySummary } from './summary-state.ts'

interface Row {
  readonly state: SummaryState
  summary: SessionSummary
  /** The time of the last entry, as the store lists it. */
  listedAt: number
  /** Number of its last change. */
  change: number
}

/** Milliseconds within which an entry may have the same time as one that was read. */
const sameMoment = 1_000

/**
 * Returns the summaries of a store that keeps none, in the memory of this process. Each entry is folded once: a look reads
 * only what is new. The first look reads the whole store.
 */
export function indexSummaries(store: Pick<SessionStore, 'list' | 'read' | 'clock'>): SessionSummaries {
  const clock = clockOf(store)
  const rows = new Map<string, Row>()
  let changes = 0
  let looking: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function update(info: SessionInfo): Promise<void> {
    const known = rows.get(info.id)
    const isOld = known && known.listedAt === info.updatedAt && clock.now() - info.updatedAt > sameMoment
    if (isOld && known.summary.status === info.status && info.status !== 'running') return
    const state = known?.state ?? emptySummary()
    let changed = !known
    // A log that killed several processes is not read.
    if (info.status === 'quarantined') return void rows.set(info.id, rowOf(info, state))
    for await (const entry of store.read(info.id, state.offset)) changed = addToSummary(state, entry) || changed
    if (known && !changed && known.summary.status === info.status) {
      known.listedAt = info.updatedAt
      return
    }
    rows.set(info.id, rowOf(info, state))
  }

  function rowOf(info: SessionInfo, state: SummaryState): Row {
    return { state, summary: summaryOf(info, state), listedAt: info.updatedAt, change: ++changes }
  }

  async function look(): Promise<void> {
    const seen = new Set<string>()
    for await (const info of store.list()) {
      seen.add(info.id)
      await update(info)
    }
    for (const id of rows.keys()) if (!seen.has(id)) rows.delete(id)
  }

  /** Brings the rows up to date. Callers during a look share the next one, which sees what they have written. */
  async function current(): Promise<readonly SessionSummary[]> {
    next ??= (looking ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        next = undefined
        return (looking = look())
      })
    await next
    return [...rows.values()].map(({ summary }) => summary)
  }

  return {
    async list(filter = {}) {
      const { before, limit = Number.POSITIVE_INFINITY } = filter
      const found = (await current()).filter(
        (one) => matchesSummary(one, filter) && (before === undefined || isAfter(one, before)),
      )
      return found.toSorted((a, b) => (isAfter(a, b) ? 1 : -1)).slice(0, limit)
    },

    async get(sessionId) {
      await current()
      return rows.get(sessionId)?.summary
    },

    async waits({ after, limit }) {
      const open: SessionWait[] = []
      for (const { id: sessionId, waits } of await current()) {
        for (const wait of waits) {
          if (after && (wait.at < after.at || (wait.at === after.at && wait.token <= after.token))) continue
          open.push({ sessionId, wait })
        }
      }
      const isOlder = ({ wait: a }: SessionWait, { wait: b }: SessionWait): boolean =>
        a.at === b.at ? a.token < b.token : a.at < b.at
      return open.toSorted((a, b) => (isOlder(a, b) ? -1 : 1)).slice(0, limit)
    },

    async changes(mark) {
      await current()
      const since = mark === undefined ? changes : Number(mark)
      const changed = [...rows.values()].filter(({ change }) => change > since)
      return { sessions: changed.map(({ summary }) => summary), mark: String(changes) }
    },
  }
}
