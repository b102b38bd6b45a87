import { hash } from 'node:crypto'

import type { EntryBody, Json, NewEntry } from '@provost/core'
import { canonicalJson } from '@provost/core'

import type { EntryContext } from '../types/log.ts'
import type { SessionState } from '../types/session-state.ts'

type Readonlyish<T> = T extends unknown ? { readonly [K in keyof T]: T[K] } : never

/** Returns the position of the run's current step. */
export function placeOf(state: SessionState): EntryContext {
  return { runId: state.run?.id ?? '', step: state.run?.step ?? 0, agent: state.agent, clock: state.clock }
}

/**
 * Creates an entry for the log.
 *
 * @param id derived from the position, so that the same step appended twice is one entry.
 */
export function newEntry(place: EntryContext, id: string, body: Readonlyish<EntryBody>): NewEntry {
  return { id, at: place.clock.now(), runId: place.runId, step: place.step, agent: place.agent, v: 1, ...body }
}

/** Returns the hash that an approval is bound to; it does not depend on the order of keys. */
export function hashJson(value: Json): string {
  return hash('sha256', canonicalJson(value))
}
