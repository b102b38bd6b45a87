import type { Fold } from '@provost/core'
import { relayProvider } from '@provost/core'

/** Something the log told, and what it told before. */
interface Told<T> {
  readonly key: string
  readonly value: T
  readonly before: Told<T> | undefined
}

/** When each wait began, the last one first. */
export const waitsSince: Fold<Told<number> | undefined> = {
  key: 'provost.telemetry.waits',
  initial: undefined,
  apply: (before, entry) => (entry.type === 'wait' ? { key: entry.token, value: entry.at, before } : before),
}

/** Calls whose results have fields that are secret although the whole is not, the last one first. */
export const secretFields: Fold<Told<true> | undefined> = {
  key: 'provost.telemetry.secret-fields',
  initial: undefined,
  apply(before, entry) {
    if (entry.type !== 'call' || entry.op !== 'settled' || !entry.fields) return before
    const secret = Object.values(entry.fields).some(({ confidentiality }) => confidentiality === 'secret')
    return secret ? { key: entry.callId, value: true, before } : before
  },
}

/** To whom calls go that are errands, the last one first. */
export const errandsOf: Fold<Told<string> | undefined> = {
  key: 'provost.telemetry.errands',
  initial: undefined,
  apply(before, entry) {
    if (entry.type !== 'handoff' || entry.mode !== 'return' || entry.callId === undefined) return before
    return { key: entry.callId, value: entry.to, before }
  },
}

/** Whether nothing is asked where a model is called. */
export function relays(model: string): boolean {
  return model.startsWith(`${relayProvider}/`)
}

/** Whether the run is there for a call that no model made. */
export const isRelayed: Fold<boolean> = {
  key: 'provost.telemetry.relayed',
  initial: false,
  apply: (is, entry) => is || (entry.type === 'attempt' && relays(entry.model)),
}

/** Whether anything of the session was compacted. */
export const wasCompacted: Fold<boolean> = {
  key: 'provost.telemetry.compacted',
  initial: false,
  apply: (was, entry) => was || (entry.type === 'view' && entry.reason === 'compaction'),
}

/** What the log told of a key last. */
export function told<T>(list: Told<T> | undefined, key: string): T | undefined {
  for (let at = list; at; at = at.before) if (at.key === key) return at.value
  return undefined
}
