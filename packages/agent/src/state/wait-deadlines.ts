import type { EntryOf } from '@provost/core'

import type { SessionState } from '../types/session-state.ts'

/** The longest that a timer can be set for, in milliseconds: 24 days. */
export const longestTimerMs: number = 2 ** 31 - 1

/** What the run waits for although its time is over. A question of a running tool is the tool's to give up. */
export function expiredWaits(state: SessionState, now: number = Date.now()): readonly EntryOf<'wait'>[] {
  const over: EntryOf<'wait'>[] = []
  for (const wait of state.waits.values()) if (deadlineOf(wait) <= now) over.push(wait)
  return over
}

/** When the first of the waits expires, in epoch milliseconds; `Infinity` where none does. */
export function nextDeadline(state: SessionState): number {
  let first = Number.POSITIVE_INFINITY
  for (const wait of state.waits.values()) first = Math.min(first, deadlineOf(wait))
  return first
}

function deadlineOf({ kind, parks, deadline = Number.POSITIVE_INFINITY }: EntryOf<'wait'>): number {
  return kind === 'input' && !parks ? Number.POSITIVE_INFINITY : deadline
}

/** Milliseconds to set a timer for that is to go off behind a deadline, or before it where it is too far away. */
export function timerMs(deadline: number): number {
  // A timer may go off a moment early.
  return Math.min(Math.max(deadline - Date.now() + 1, 1), longestTimerMs)
}
