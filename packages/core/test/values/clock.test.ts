import { signalAfter, sleep, systemClock } from '@provost/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const day = 24 * 60 * 60 * 1000

test('a signal and a sleep of 60 days end after 60 days, although a timer ends after 24', async () => {
  const signal = signalAfter(systemClock, 60 * day)
  const woken = vi.fn<() => void>()
  const sleeping = sleep(systemClock, 60 * day).then(woken)
  await vi.advanceTimersByTimeAsync(59 * day)
  expect([signal.aborted, woken.mock.calls.length]).toEqual([false, 0])
  await vi.advanceTimersByTimeAsync(day)
  await sleeping
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
})

test('a signal after an infinite time never aborts', async () => {
  const signal = signalAfter(systemClock, Number.POSITIVE_INFINITY)
  await vi.advanceTimersByTimeAsync(100 * day)
  expect(signal.aborted).toBe(false)
})

test('an abort ends a sleep of any length and leaves no timer', async () => {
  const controller = new AbortController()
  const sleeping = sleep(systemClock, 60 * day, controller.signal)
  await vi.advanceTimersByTimeAsync(30 * day)
  controller.abort()
  await sleeping
  expect(vi.getTimerCount()).toBe(0)
})
