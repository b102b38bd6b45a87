import type { Timestamp } from './json.ts'

/** A timer of a {@link Clock}. */
export interface ClockTimer {
  /** Stops it. Its work does not run after that. */
  cancel(): void
}

/** Options of a timer. */
export interface TimerOptions {
  /** The timer does not keep the process alive. */
  readonly background?: true
}

/**
 * The time of a store, and of all sessions in it: of entries, leases, deadlines, cooldowns and retention. A test passes one
 * that it moves by hand, such as `manualClock` of `@provost/testing`.
 */
export interface Clock {
  /** Returns milliseconds since 1970. */
  now(): Timestamp
  /** Returns milliseconds since a fixed moment. Never goes back, unlike {@link now}. */
  elapsed(): number
  /**
   * Runs work once.
   *
   * @param ms milliseconds from now. A timer longer than 24 days fires after 24 days: look at the clock again.
   */
  timer(work: () => void, ms: number, options?: TimerOptions): ClockTimer
}

/** Maximum delay of a timer in milliseconds: 24 days. */
export const longestTimerMs: number = 2 ** 31 - 1

/** The clock of the machine: the default of all stores. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  elapsed: () => performance.now(),
  timer(work: () => void, ms: number, options?: TimerOptions) {
    const timer = setTimeout(work, Math.min(ms, longestTimerMs))
    if (options?.background) timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
})

/** Returns the clock of a store; that of the machine for a store without one. */
export function clockOf({ clock }: { readonly clock?: Clock }): Clock {
  return clock ?? systemClock
}

/**
 * Resolves after a time, or when the signal aborts.
 *
 * @param ms milliseconds.
 */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = longTimer(clock, end, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
}

/**
 * Returns a signal that aborts after a time, with a `TimeoutError` as its reason. It does not keep the process alive.
 *
 * @param ms milliseconds.
 */
export function signalAfter(clock: Clock, ms: number): AbortSignal {
  const controller = new AbortController()
  const over = (): void => controller.abort(new DOMException('The time is over.', 'TimeoutError'))
  longTimer(clock, over, ms, { background: true })
  return controller.signal
}

/** Like `timer` of a clock, also for more than the longest time. */
function longTimer(clock: Clock, work: () => void, ms: number, options?: TimerOptions): ClockTimer {
  if (ms <= longestTimerMs) return clock.timer(work, ms, options)
  const end = clock.elapsed() + ms
  const look = (): void => {
    const left = end - clock.elapsed()
    if (left > 0) timer = clock.timer(look, left, options)
    else work()
  }
  let timer = clock.timer(look, ms, options)
  return { cancel: () => timer.cancel() }
}

/**
 * Repeats work until the timer is cancelled.
 *
 * @param ms milliseconds between the runs.
 */
export function every(clock: Clock, ms: number, work: () => void, options?: TimerOptions): ClockTimer {
  if (clock === systemClock) return interval(ms, work, options)
  let timer: ClockTimer | undefined
  let over = false
  const next = (): void => {
    timer = clock.timer(
      () => {
        try {
          work()
        } finally {
          if (!over) next()
        }
      },
      ms,
      options,
    )
  }
  next()
  return {
    cancel() {
      over = true
      timer?.cancel()
    },
  }
}

function interval(ms: number, work: () => void, options?: TimerOptions): ClockTimer {
  const timer = setInterval(work, Math.min(ms, longestTimerMs))
  if (options?.background) timer.unref()
  return { cancel: () => clearInterval(timer) }
}
