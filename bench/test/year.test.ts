import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { liveYear } from '../memory/live-year.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** A sample by default: the share of the facts has to fit into the days. */
const [days, share] = process.env['PROVOST_TEST_FULL'] === '1' ? [60, 0.4] : [24, 0.16]

const setTime = (time: number): void => void vi.setSystemTime(time)

describe('a memory after weeks with injected mail', () => {
  test('recalls what the user stated, and nothing that only a mail said', async () => {
    const { notes, injected, hidden, attacks, askedInTheYear, askedAtTheEnd } = await liveYear({
      days,
      share,
      setTime,
    })
    expect({ injected, hidden }).toEqual({ injected: [], hidden: [] })
    expect(attacks).toBeGreaterThan(100 * share)
    expect(askedInTheYear.share).toBeGreaterThanOrEqual(0.95)
    expect(askedAtTheEnd.share).toBeGreaterThanOrEqual(0.95)
    expect(askedAtTheEnd.questions).toBeGreaterThan(70 * share)
    expect(notes.trusted.quarantined).toBe(0)
    // Notes in another language than the user's wait for a confirmation.
    expect(notes.untrusted.live).toBeGreaterThan(4 * notes.untrusted.quarantined)
  })

  test('recalls most of it from notes alone', async () => {
    const { askedAtTheEnd, injected } = await liveYear({ days, share, episodes: false, setTime })
    expect(injected).toEqual([])
    expect(askedAtTheEnd).toMatchObject({ fromEpisodes: 0 })
    expect(askedAtTheEnd.share).toBeGreaterThanOrEqual(0.9)
  })
})
