import { signalAfter } from '@provost/core'
import { manualClock } from '@provost/testing'
import { expect, test } from 'vitest'

test('a signal of 60 days aborts after 60 days of a clock that is moved by hand', async () => {
  const day = 24 * 60 * 60 * 1000
  const clock = manualClock()
  const signal = signalAfter(clock, 60 * day)
  await clock.advance(59 * day)
  expect(signal.aborted).toBe(false)
  await clock.advance(day)
  expect(signal.aborted).toBe(true)
})
