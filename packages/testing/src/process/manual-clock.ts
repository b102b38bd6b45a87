import { setImmediate as turn } from 'node:timers/promises'

import type { Clock, ClockTimer, KnownKeys, Timestamp } from '@provost/core'
import { checkOptions } from '@provost/core'

/** A clock that a test moves. */
export interface ManualClock extends Clock {
  /**
   * Moves the clock. Timers that become due run at their own time, in order. The work that each one starts gets `settled`
   * before the clock moves on.
   *
   * @param ms milliseconds, at least 0.
   */
  advance(ms: number): Promise<void>
  /** Returns the times at which timers are due, the earliest first. */
  due(): readonly Timestamp[]
}

/** Options of {@link manualClock}. */
export interface ManualClockOptions {
  /** The first time, in milliseconds since 1970. Default: 1 January 2030. */
  readonly at?: Timestamp
  /** Resolves when the work of a timer has come to rest. Default: 20 turns of the event loop. */
  readonly settled?: () => Promise<unknown>
}

const firstTime: Timestamp = Date.UTC(2030, 0, 1)
const turns = 20
const optionKeys = { at: true, settled: true } satisfies KnownKeys<ManualClockOptions>

/**
 * Returns a clock that stands still until the test moves it. Give it to a store: its sessions then wait for deadlines,
 * retries and leases of this clock. A year takes as long as the work in it.
 *
 * @example
 * const clock = manualClock()
 * const store = memoryStore({ clock })
 * await clock.advance(30 * 86_400_000)
 */
export function manualClock(options: ManualClockOptions = {}): ManualClock {
  checkOptions(options, optionKeys, 'manualClock')
  const { at = firstTime, settled = someTurns } = options
  interface Due {
    readonly at: Timestamp
    readonly work: () => void
  }
  const timers = new Set<Due>()
  let now = at

  function next(until: Timestamp): Due | undefined {
    let first: Due | undefined
    for (const timer of timers) if (timer.at <= until && (!first || timer.at < first.at)) first = timer
    return first
  }

  return {
    now: () => now,
    elapsed: () => now - at,
    timer(work, ms): ClockTimer {
      const due: Due = { at: now + Math.max(0, ms), work }
      timers.add(due)
      return { cancel: () => void timers.delete(due) }
    },
    async advance(ms) {
      const end = now + ms
      await settled()
      for (let due = next(end); due; due = next(end)) {
        timers.delete(due)
        now = Math.max(now, due.at)
        due.work()
        await settled()
      }
      now = end
    },
    due: () => [...timers].map((timer) => timer.at).toSorted((a, b) => a - b),
  }
}

async function someTurns(): Promise<void> {
  for (let left = turns; left > 0; left--) await turn()
}
