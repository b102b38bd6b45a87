import type { EntryOf, EventPayloads } from '@provost/core'

type Report = EventPayloads['tool.batch.settled']
type Row = Report['rows'][number]

/** Collects how the calls of batches end. */
export interface BatchReport {
  /** Adds a row. A call that is asked about again moves to another batch; returns the report that then is complete. */
  asked(wait: EntryOf<'wait'>, toolName: string): Report | undefined
  /** Records the end of a call. Returns the report of its batch if it was the last row. */
  ended(entry: EntryOf<'call', 'settled'>): Report | undefined
  clear(): void
}

/** Creates the report of the batches of a run. */
export function createBatchReport(): BatchReport {
  const batches = new Map<string, Map<string, Row | { readonly toolName: string }>>()
  const batchOf = new Map<string, string>()

  function reportOf(batch: string): Report | undefined {
    const rows = [...(batches.get(batch)?.values() ?? [])]
    const ended = rows.filter((row) => 'outcome' in row)
    if (ended.length < rows.length) return undefined
    batches.delete(batch)
    return ended.length > 0 ? { batch, rows: ended } : undefined
  }

  return {
    asked({ callId = '', batch }, toolName) {
      const before = batchOf.get(callId)
      if (before === undefined && batch === undefined) return undefined
      if (before !== undefined) batches.get(before)?.delete(callId)
      batchOf.delete(callId)
      if (batch !== undefined) {
        batchOf.set(callId, batch)
        const rows = batches.get(batch) ?? new Map<string, Row | { readonly toolName: string }>()
        batches.set(batch, rows.set(callId, { toolName }))
      }
      return before === undefined ? undefined : reportOf(before)
    },
    ended({ callId, outcome, unknown }) {
      const batch = batchOf.get(callId)
      const row = batch === undefined ? undefined : batches.get(batch)?.get(callId)
      if (batch === undefined || !row) return undefined
      batches.get(batch)?.set(callId, { callId, toolName: row.toolName, outcome: unknown ? 'unknown' : outcome })
      return reportOf(batch)
    },
    clear() {
      batches.clear()
      batchOf.clear()
    },
  }
}
