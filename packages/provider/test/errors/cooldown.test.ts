import type { OneModel } from '@provost/core'
import type { AnyModel } from '@provost/provider'
import { callModel, resolveModel, cooldownOf } from '@provost/provider'
import { scriptedModel } from '@provost/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const start = Date.parse('Wed, 21 Oct 2026 07:28:00 GMT')
beforeEach(() => {
  vi.useFakeTimers({ now: start })
})
afterEach(() => {
  vi.useRealTimers()
})
const wait = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

async function ask(model: AnyModel): Promise<boolean> {
  const { ok } = await callModel({ model, prompt: [], callId: String }, () => {})
  return ok
}
function failing(status: number, headers: Record<string, string> = {}): AnyModel {
  const error = Object.assign(new Error('no'), { status, responseHeaders: headers })
  return scriptedModel([{ error }], { after: 'repeat-last' })
}
const secondsOf = (model: OneModel): number => Math.round((cooldownOf(model)?.ms ?? 0) / 1000)

describe('a model enters cooldown', () => {
  it.each([
    ['for as long as the provider asks, in seconds', 429, { 'retry-after': '7' }, 7],
    ['for as long as the provider asks, in milliseconds', 429, { 'retry-after-ms': '9000' }, 9],
    ['until the date that the provider states', 529, { 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' }, 30],
    ['for at most ten minutes', 429, { 'retry-after': '86400' }, 600],
    ['for five seconds by default', 429, {}, 5],
    ['for no time if the provider asks for none', 429, { 'retry-after': '0' }, 0],
  ] as const)('%s', async (_, status, headers, seconds) => {
    const model = failing(status, headers)
    expect(await ask(model)).toBe(false)
    expect(secondsOf(model)).toBe(seconds)
    if (seconds === 0) return
    expect(cooldownOf(model)?.class).toBe(status === 429 ? 'rate-limit' : 'capacity')
    wait(seconds * 1000)
    expect(cooldownOf(model)).toBeUndefined()
  })

  it('for twice as long after each failure that follows a cooldown, up to a limit', async () => {
    const model = failing(503)
    const rests: number[] = []
    for (let i = 0; i < 9; i++) {
      await ask(model)
      rests.push(secondsOf(model))
      wait(secondsOf(model) * 1000)
    }
    expect(rests).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600])
  })

  it('once for calls that fail together', async () => {
    const model = failing(429)
    await Promise.all([ask(model), ask(model), ask(model)])
    expect(secondsOf(model)).toBe(5)
  })

  it.each([
    [400, 'a bad request'],
    [401, 'a wrong key'],
    [504, 'a gateway time-out'],
  ])('never after %i, %s', async (status) => {
    const model = failing(status)
    await ask(model)
    expect(cooldownOf(model)).toBeUndefined()
  })

  it('by object, since two models of one name may be two accounts', async () => {
    const model = failing(429)
    await ask(model)
    expect(cooldownOf(failing(429))).toBeUndefined()
  })

  it('also if it is wrapped for clearance or resolved by name', async () => {
    const model = failing(429)
    const cleared = { model, accepts: ['public', 'internal', 'secret'] } as const
    await ask(await resolveModel(cleared))
    expect([secondsOf(model), secondsOf(cleared)]).toEqual([5, 5])
    expect(cooldownOf('unknown/model')).toBeUndefined()
  })
})

describe('a model after its cooldown', () => {
  it('is available without a penalty once it responds', async () => {
    const busy = Object.assign(new Error('no'), { status: 429 })
    const model = scriptedModel([{ error: busy }, { error: busy }, { text: 'ok' }, { error: busy }])
    await ask(model)
    wait(5000)
    await ask(model)
    expect(secondsOf(model)).toBe(10)
    wait(10_000)
    expect(await ask(model)).toBe(true)
    await ask(model)
    expect(secondsOf(model)).toBe(5)
  })

  it('keeps its penalty if the response belongs to a request from before the failure', async () => {
    const busy = Object.assign(new Error('no'), { status: 429 })
    const model = scriptedModel([{ text: 'slow', delayMs: 50 }, { error: busy }])
    const slow = ask(model)
    await vi.advanceTimersByTimeAsync(10)
    await ask(model)
    await vi.advanceTimersByTimeAsync(60)
    expect(await slow).toBe(true)
    expect(secondsOf(model)).toBe(5)
  })
})

it('a cooldown is at most ten minutes, whatever the provider asks for', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), async (header) => {
      const model = failing(429, { 'retry-after': header })
      await ask(model)
      expect(cooldownOf(model)?.ms ?? 0).toBeLessThanOrEqual(600_000)
    }),
    { numRuns: 30 },
  )
})
