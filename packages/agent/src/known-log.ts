import type { Entry, SessionStore } from '@provost/core'

import { applyEntry } from './fold.ts'
import type { LogState } from './log-state.ts'
import { emptyLog, offsetOf } from './log-state.ts'
import type { Projection } from './projection.ts'
import { createProjection, muted } from './projection.ts'

/** A log as far as this process has read it. Whoever keeps it reads only what is new. */
export interface KnownLog {
  readonly state: LogState
  readonly projection: Projection
}

/** A log of which nothing was read yet. */
export function knownLog(sessionId: string): KnownLog {
  const state = emptyLog()
  return { state, projection: createProjection(sessionId, state) }
}

/** Takes in entries of the store, in their order. What they tell of has happened: there are no events of it. */
export function learn({ state, projection }: KnownLog, entries: Iterable<Entry>): void {
  for (const entry of entries) {
    // Somebody else may have taken it in while it was read.
    if (entry.offset <= offsetOf(state)) continue
    projection.before(entry, muted)
    applyEntry(state, entry)
    projection.project(entry, muted)
  }
  projection.flush(muted)
}

/** The entries of a log behind an offset. */
export async function readLog(store: SessionStore, log: string, after = 0): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  const reader = store.read(log, after)
  if (!reader.pages) for await (const entry of reader) entries.push(entry)
  else for await (const page of reader.pages()) for (const entry of page) entries.push(entry)
  return entries
}
