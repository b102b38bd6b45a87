/** Counts the time that a call runs. */
export interface CallClock {
  start(): void
  stop(): void
}

/** The longest that a timer can be set for: 24 days. */
const longestMs = 2 ** 31 - 1

/**
 * @param limitMs of running time.
 * @param over called when it is used up.
 */
export function createCallClock(limitMs: number, over: () => void): CallClock {
  let left = limitMs
  let since = 0
  let timer: NodeJS.Timeout | undefined
  return {
    start() {
      if (timer !== undefined || left > longestMs) return
      since = performance.now()
      timer = setTimeout(over, left)
    },
    stop() {
      if (timer === undefined) return
      clearTimeout(timer)
      timer = undefined
      left = Math.max(0, left - (performance.now() - since))
    },
  }
}
