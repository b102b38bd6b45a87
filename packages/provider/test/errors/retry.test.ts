import type { ModelError } from '@provost/provider'
import { retryDelayMs } from '@provost/provider'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const busy: ModelError = { class: 'capacity', message: 'busy', retryable: true }

describe('the delay before a retry', () => {
  it('starts at half a second and doubles', () => {
    expect([1, 2, 3, 4].map((attempt) => retryDelayMs(busy, attempt, () => 0))).toEqual([500, 1000, 2000, 4000])
  })

  it('has up to 20 % of jitter and a maximum', () => {
    expect(retryDelayMs(busy, 1, () => 1)).toBe(600)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), (attempt) => {
        const delay = retryDelayMs(busy, attempt) ?? Number.NaN
        expect(delay).toBeGreaterThanOrEqual(500)
        expect(delay).toBeLessThanOrEqual(60_000)
      }),
    )
  })

  it('is the wait that the provider asks for, up to one minute', () => {
    expect(retryDelayMs({ ...busy, retryAfterMs: 0 }, 3)).toBe(0)
    expect(retryDelayMs({ ...busy, retryAfterMs: 60_000 }, 1)).toBe(60_000)
  })

  it('is undefined if the provider asks for more or if a retry cannot help', () => {
    expect(retryDelayMs({ ...busy, retryAfterMs: 60_001 }, 1)).toBeUndefined()
    expect(retryDelayMs({ ...busy, retryable: false }, 1)).toBeUndefined()
  })
})
