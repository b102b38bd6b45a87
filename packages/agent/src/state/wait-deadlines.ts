import type { Clock, EntryOf } from '@provost/core'
import { longestTimerMs } from '@provost/core'

import type { SessionState } from '../types/session-state.ts'

/** Returns the expired waits of the run. A running tool handles the deadlines of its own questions. */
export function expiredWaits(state: SessionState, now: number = state.clock.now()): readonly EntryOf<'wait'>[] {
  const over: EntryOf<'wait'>[] = []
  for (const wait of state.waits.values()) if (deadlineOf(wait) <= now) over.push(wait)
  return over
}

/** Returns the earliest deadline of the waits in epoch milliseconds; `Infinity` if there is none. */
export function nextDeadline(state: SessionState): number {
  let first = Number.POSITIVE_INFINITY
  for (const wait of state.waits.values()) first = Math.min(first, deadlineOf(wait))
  return first
}

function deadlineOf({ kind, parks, deadline = Number.POSITIVE_INFINITY }: EntryOf<'wait'>): number {
  return kind === 'input' && !parks ? Number.POSITIVE_INFINITY : deadline
}

/** Returns the delay in milliseconds of a timer that fires after a deadline, or earlier if that is too far away. */
export function timerMs(clock: Clock, deadline: number): number {
  // A timer may fire slightly early.
  return Math.min(Math.max(deadline - clock.now() + 1, 1), longestTimerMs)
}
