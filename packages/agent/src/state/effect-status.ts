import type { EffectMark, EffectSource, EffectState, EffectStatus } from '@provost/core'
import type { EffectRecord } from '@provost/sessions'

/** Returns the state of an effect without its place and its idempotency key. */
export function statusOf(
  { key, scope, attempt, clearedBy }: EffectMark,
  state: EffectState,
  by: EffectSource = 'call',
): EffectStatus {
  return { ...(key !== undefined && { key }), scope, attempt, ...(clearedBy !== undefined && { clearedBy }), state, by }
}

/** Returns the state of an effect as the ledger records it. */
export function recordedStatus({ key, scope, claim, state, by }: EffectRecord): EffectStatus {
  return {
    ...(scope !== 'run' && { key }),
    scope,
    attempt: claim.attempt,
    state,
    by: by === 'lookup' || by === 'human' ? by : 'call',
  }
}
