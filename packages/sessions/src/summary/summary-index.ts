import type { SessionInfo, SessionStore, SessionSummaries } from '@provost/core'
import { clockOf } from '@provost/core'

import type { SummaryState } from './summary-state.ts'
import { addToSummary, emptySummary } from './summary-state.ts'
import { createSummaryTable } from './summary-table.ts'

interface Known {
  readonly info: SessionInfo
  readonly state: SummaryState
}

/** Milliseconds within which an entry may have the same time as one that was read. */
const sameMoment = 1_000

/**
 * Returns the summaries of a store that keeps none, in the memory of this process. Each entry is folded once: a look reads
 * only what is new. The first look reads the whole store.
 */
export function indexSummaries(store: Pick<SessionStore, 'list' | 'read' | 'clock'>): SessionSummaries {
  const clock = clockOf(store)
  const table = createSummaryTable()
  const known = new Map<string, Known>()
  let looking: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function update(info: SessionInfo): Promise<void> {
    const before = known.get(info.id)
    const isSame = before?.info.updatedAt === info.updatedAt && before.info.status === info.status
    if (isSame && info.status !== 'running' && clock.now() - info.updatedAt > sameMoment) return
    const state = before?.state ?? emptySummary()
    let changed = !before || before.info.status !== info.status
    // A log that killed several processes is not read.
    if (info.status !== 'quarantined') {
      for await (const entry of store.read(info.id, state.offset)) {
        if (addToSummary(state, entry) !== 'nothing') changed = true
      }
    }
    known.set(info.id, { info, state })
    if (changed) table.put(info, state)
  }

  async function look(): Promise<void> {
    const seen = new Set<string>()
    for await (const info of store.list()) {
      seen.add(info.id)
      await update(info)
    }
    for (const id of known.keys()) {
      if (seen.has(id)) continue
      known.delete(id)
      table.remove(id)
    }
  }

  /** Brings the table up to date. Callers during a look share the next one, which sees what they have written. */
  async function current(): Promise<void> {
    next ??= (looking ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        next = undefined
        return (looking = look())
      })
    await next
  }

  return {
    list: async (filter) => (await current(), table.list(filter)),
    get: async (sessionId) => (await current(), table.get(sessionId)),
    waits: async (options) => (await current(), table.waits(options)),
    changes: async (mark) => (await current(), table.changes(mark)),
  }
}
