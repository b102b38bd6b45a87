import type { Fold } from '@provost/core'
import { relayProvider } from '@provost/core'

/** A list of values from the log, latest first. */
interface KeyedList<T> {
  readonly key: string
  readonly value: T
  readonly before: KeyedList<T> | undefined
}

/** The start of each wait, latest first. */
export const waitsSince: Fold<KeyedList<number> | undefined> = {
  key: 'provost.telemetry.waits',
  initial: undefined,
  apply: (before, entry) => (entry.type === 'wait' ? { key: entry.token, value: entry.at, before } : before),
}

/** Whether a call of the current step has a secret result, as a whole or in a field. The view shows it after the step. */
export const hasSecretResult: Fold<boolean> = {
  key: 'provost.telemetry.secret-result',
  initial: false,
  apply(has, entry) {
    if (entry.type === 'message' && entry.via === 'model') return false
    if (has || entry.type !== 'call' || entry.op !== 'settled') return has
    const { label, fields = {}, output } = entry
    const parts = output.type === 'content' ? output.value.flatMap((part) => part.label ?? []) : []
    return [label, ...Object.values(fields), ...parts].some(({ confidentiality }) => confidentiality === 'secret')
  },
}

/** The agent that each return handoff goes to, by call, latest first. */
export const returnHandoffTargets: Fold<KeyedList<string> | undefined> = {
  key: 'provost.telemetry.errands',
  initial: undefined,
  apply(before, entry) {
    if (entry.type !== 'handoff' || entry.mode !== 'return' || entry.callId === undefined) return before
    return { key: entry.callId, value: entry.to, before }
  },
}

/** Whether this is a stub model: calls of it reach no provider. */
export function isStubModel(model: string): boolean {
  return model.startsWith(`${relayProvider}/`)
}

/** Whether the run exists for a call that no model made. */
export const usesStubModel: Fold<boolean> = {
  key: 'provost.telemetry.relayed',
  initial: false,
  apply: (is, entry) => is || (entry.type === 'attempt' && isStubModel(entry.model)),
}

/** Whether a part of the session was compacted. */
export const wasCompacted: Fold<boolean> = {
  key: 'provost.telemetry.compacted',
  initial: false,
  apply: (was, entry) => was || (entry.type === 'view' && entry.reason === 'compaction'),
}

/** The latest value of a key. */
export function latestOf<T>(list: KeyedList<T> | undefined, key: string): T | undefined {
  for (let at = list; at; at = at.before) if (at.key === key) return at.value
  return undefined
}
