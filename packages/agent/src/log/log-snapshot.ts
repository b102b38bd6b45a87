import type { Clock, Entry, SessionStore } from '@provost/core'

import { createEventProjection } from '../events/event-projection.ts'
import { muted } from '../events/muted.ts'
import { reduceEntry } from '../reducers/reducer.ts'
import { emptySessionState } from '../state/session-state.ts'
import type { LogSnapshot } from '../types/log.ts'

/** Returns the snapshot of a log before its first entry. */
export function logSnapshot(sessionId: string, clock?: Clock): LogSnapshot {
  const state = emptySessionState(clock)
  return { state, projection: createEventProjection(sessionId, state) }
}

/** Applies stored entries in order, without emitting events. */
export function applyEntries({ state, projection }: LogSnapshot, entries: Iterable<Entry>): void {
  for (const entry of entries) {
    // A concurrent reader may have applied it already.
    if (entry.offset <= state.offset) continue
    projection.before(entry, muted)
    reduceEntry(state, entry)
    projection.project(entry, muted)
  }
  projection.flush(muted)
}

/** Returns the entries of a log after an offset. */
export async function readLog(store: SessionStore, log: string, after = 0): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  const reader = store.read(log, after)
  if (!reader.pages) for await (const entry of reader) entries.push(entry)
  else for await (const page of reader.pages()) for (const entry of page) entries.push(entry)
  return entries
}
