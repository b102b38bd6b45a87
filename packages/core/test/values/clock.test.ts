import type { Clock } from '@provost/core'
import { longestTimerMs, signalAfter, sleep } from '@provost/core'
import { expect, test } from 'vitest'

const day = 24 * 60 * 60 * 1000

/** A clock that a test moves, whose timers end after 24 days like those of the machine. */
function movedClock(): Clock & { readonly timers: Map<() => void, number>; move(ms: number): void } {
  const timers = new Map<() => void, number>()
  let now = 0
  return {
    timers,
    now: () => now,
    elapsed: () => now,
    timer(work, ms) {
      timers.set(work, now + Math.min(ms, longestTimerMs))
      return { cancel: () => void timers.delete(work) }
    },
    move(ms) {
      const end = now + ms
      for (;;) {
        const [work, at = Infinity] = [...timers].toSorted((a, b) => a[1] - b[1])[0] ?? []
        if (!work || at > end) break
        timers.delete(work)
        now = at
        work()
      }
      now = end
    },
  }
}

test('a signal and a sleep of 60 days end after 60 days, although a timer ends after 24', async () => {
  const clock = movedClock()
  const signal = signalAfter(clock, 60 * day)
  let woken = false
  const sleeping = sleep(clock, 60 * day).then(() => (woken = true))
  clock.move(59 * day)
  await Promise.resolve()
  expect([signal.aborted, woken, clock.timers.size]).toEqual([false, false, 2])
  clock.move(day)
  await sleeping
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
  expect(clock.timers.size).toBe(0)
})

test('a signal after an infinite time never aborts', () => {
  const clock = movedClock()
  const signal = signalAfter(clock, Number.POSITIVE_INFINITY)
  clock.move(100 * day)
  expect(signal.aborted).toBe(false)
})

test('an abort ends a sleep of any length and leaves no timer', async () => {
  const clock = movedClock()
  const controller = new AbortController()
  const sleeping = sleep(clock, 60 * day, controller.signal)
  clock.move(30 * day)
  controller.abort()
  await sleeping
  expect(clock.timers.size).toBe(0)
})
