import { costOf, priceOf, pricesAsOf } from '@provost/provider'
import { describe, expect, it } from 'vitest'

describe('the price of a model', () => {
  it('is found under its name, with a date, and through the gateway', () => {
    const sonnet = priceOf('anthropic/claude-sonnet-4-5')
    expect(sonnet).toEqual({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 })
    for (const name of [
      'anthropic/claude-sonnet-4-5-20250929',
      'gateway/anthropic/claude-sonnet-4.5',
      'anthropic/claude-sonnet-4.5',
    ])
      expect(priceOf(name)).toBe(sonnet)
    expect(priceOf('openai/gpt-5-2025-08-07')).toBe(priceOf('openai/gpt-5'))
  })

  it('is undefined if it is unknown, never 0 and never that of a similar model', () => {
    for (const name of ['openai/gpt-5-turbo-max', 'azure/gpt-5', 'local/llama', 'openai/constructor', '__proto__', ''])
      expect(priceOf(name)).toBeUndefined()
  })

  it('can be set or overridden', () => {
    const mine = { 'local/llama': { input: 0, output: 0 }, 'openai/gpt-5': { input: 1, output: 2 } }
    expect(priceOf('local/llama', mine)).toEqual({ input: 0, output: 0 })
    expect(priceOf('openai/gpt-5', mine)).toEqual({ input: 1, output: 2 })
    expect(priceOf('openai/gpt-5-mini', mine)).toBeDefined()
  })

  it('has a date', () => {
    expect(new Date(pricesAsOf).toISOString()).toContain(pricesAsOf)
  })
})

describe('the cost of a usage', () => {
  it('uses the rates of cached tokens', () => {
    const usage = { inputTokens: 100_000, cacheReadTokens: 80_000, cacheWriteTokens: 10_000, outputTokens: 1000 }
    // 10,000 × 3 + 80,000 × 0.3 + 10,000 × 3.75 + 1,000 × 15, for a million
    expect(costOf(usage, 'anthropic/claude-sonnet-4-5')).toBeCloseTo(0.1065, 10)
  })

  it('counts cached tokens as plain input if the price has no rate for them', () => {
    const prices = { 'a/b': { input: 2, output: 0 } }
    expect(costOf({ inputTokens: 1_000_000, cacheReadTokens: 500_000 }, 'a/b', prices)).toBe(2)
  })

  it('uses the long-context rates for all tokens of a long prompt', () => {
    const usage = (inputTokens: number): number | undefined =>
      costOf({ inputTokens, outputTokens: 0 }, 'anthropic/claude-haiku-5-5')
    expect(usage(100_000)).toBeCloseTo(0.01, 10)
    expect(usage(100_001)).toBeCloseTo(0.0500005, 10)
  })

  it('is undefined without a price or a usage, and 0 only for a free model', () => {
    expect(costOf({ inputTokens: 1 }, 'local/llama')).toBeUndefined()
    expect(costOf({}, 'openai/gpt-5')).toBeUndefined()
    expect(costOf({ inputTokens: 5, outputTokens: 5 }, 'local/llama', { 'local/llama': { input: 0, output: 0 } })).toBe(
      0,
    )
  })

  it('includes cached tokens that a provider counts apart from its input', () => {
    const prices = { 'a/b': { input: 10, output: 0, cacheRead: 1 } }
    expect(costOf({ inputTokens: 10, cacheReadTokens: 1_000_000 }, 'a/b', prices)).toBe(1)
  })
})
