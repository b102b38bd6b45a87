import type { ClockTimer, Grant } from '@provost/core'

import type { SessionState } from '../types/session-state.ts'

/** Starts a timer for the duration that the grant leaves. Only active time counts; waiting does not. */
export function grantTimer(
  grant: Grant | undefined,
  state: SessionState,
  over: (grantedMs: number) => void,
): ClockTimer | undefined {
  const { durationMs } = grant ?? {}
  if (durationMs === undefined || !Number.isFinite(durationMs)) return undefined
  return state.clock.timer(() => over(durationMs), Math.max(0, durationMs - (state.run?.activeMs ?? 0)))
}
