import type { PriceTable, Rates } from './price.ts'

/**
 * The rule of OpenAI for prompts of more than 272,000 tokens: the whole request at twice the input price and 1.5 times
 * the output price.
 */
function openaiLong({ input, output, cacheRead, cacheWrite }: Rates): Rates & { readonly above: number } {
  return {
    above: 272_000,
    input: input * 2,
    output: output * 1.5,
    ...(cacheRead !== undefined && { cacheRead: cacheRead * 2 }),
    ...(cacheWrite !== undefined && { cacheWrite: cacheWrite * 2 }),
  }
}

function openai(input: number, cacheRead: number, output: number): Rates {
  return { input, output, cacheRead }
}

function openaiWide(input: number, cacheRead: number, output: number): PriceTable[string] {
  const rates = openai(input, cacheRead, output)
  return { ...rates, long: openaiLong(rates) }
}

/** From 5.6 on, writing to the cache costs 25 % more than plain input. */
function openaiCached(input: number, cacheRead: number, output: number): PriceTable[string] {
  const rates: Rates = { input, output, cacheRead, cacheWrite: input * 1.25 }
  return { ...rates, long: openaiLong(rates) }
}

/** Writes are those of the five-minute cache. */
function anthropic(input: number, cacheRead: number, output: number): Rates {
  return { input, output, cacheRead, cacheWrite: input * 1.25 }
}

/** Reading from the cache costs a tenth. The cost of storage depends on time and is omitted. */
function google(input: number, output: number): Rates {
  return { input, output, cacheRead: input / 10 }
}

/**
 * Standard list prices of well-known models, without discounts for batches or surcharges for speed or region. Models
 * with uncertain or changing prices are absent. Checked on the date of `pricesAsOf`.
 */
export const prices: PriceTable = {
  'anthropic/claude-fable-5-1': anthropic(10, 0.25, 50),
  'anthropic/claude-fable-5': anthropic(10, 1, 50),
  'anthropic/claude-opus-5-5': anthropic(4, 0.2, 20),
  'anthropic/claude-opus-5': anthropic(5, 0.5, 25),
  'anthropic/claude-opus-4-8': anthropic(5, 0.5, 25),
  'anthropic/claude-opus-4-7': anthropic(5, 0.5, 25),
  'anthropic/claude-opus-4-6': anthropic(5, 0.5, 25),
  'anthropic/claude-opus-4-5': anthropic(5, 0.5, 25),
  'anthropic/claude-sonnet-5-5': anthropic(2, 0.1, 10),
  'anthropic/claude-sonnet-5': anthropic(2, 0.2, 10),
  'anthropic/claude-sonnet-4-6': anthropic(3, 0.3, 15),
  'anthropic/claude-sonnet-4-5': anthropic(3, 0.3, 15),
  'anthropic/claude-haiku-5-5': {
    ...anthropic(0.1, 0.01, 0.5),
    long: { above: 100_000, ...anthropic(0.5, 0.05, 2.5) },
  },
  'anthropic/claude-haiku-4-5': anthropic(1, 0.1, 5),

  'openai/gpt-6.1-sol': openaiCached(2, 0.1, 10),
  'openai/gpt-6.1-terra': openaiCached(1, 0.05, 5),
  'openai/gpt-6-astra': openaiCached(10, 1, 50),
  'openai/gpt-6-sol': openaiCached(2, 0.2, 10),
  'openai/gpt-6-luna': openaiCached(0.1, 0.01, 0.5),
  'openai/gpt-5.6-terra': openaiCached(2, 0.2, 12),
  'openai/gpt-5.6-luna': openaiCached(0.2, 0.02, 1.2),
  'openai/gpt-5.5': openaiWide(5, 0.5, 30),
  'openai/gpt-5.4': openaiWide(2.5, 0.25, 15),
  'openai/gpt-5.4-mini': openai(0.75, 0.075, 4.5),
  'openai/gpt-5.4-nano': openai(0.2, 0.02, 1.25),
  'openai/gpt-5.2': openai(1.75, 0.175, 14),
  'openai/gpt-5.1': openai(1.25, 0.125, 10),
  'openai/gpt-5': openai(1.25, 0.125, 10),
  'openai/gpt-5-mini': openai(0.25, 0.025, 2),
  'openai/gpt-5-nano': openai(0.05, 0.005, 0.4),
  'openai/gpt-4.1': openai(2, 0.5, 8),
  'openai/gpt-4.1-mini': openai(0.4, 0.1, 1.6),
  'openai/gpt-4.1-nano': openai(0.1, 0.025, 0.4),
  'openai/gpt-4o': openai(2.5, 1.25, 10),
  'openai/gpt-4o-mini': openai(0.15, 0.075, 0.6),
  'openai/o3': openai(2, 0.5, 8),
  'openai/o4-mini': openai(1.1, 0.275, 4.4),

  'google/gemini-3.5-flash': google(1.5, 9),
  'google/gemini-3.1-pro-preview': { ...google(2, 12), long: { above: 200_000, ...google(4, 18) } },
  'google/gemini-3-flash': google(0.5, 3),
  'google/gemini-3-flash-preview': google(0.5, 3),
  'google/gemini-2.5-pro': { ...google(1.25, 10), long: { above: 200_000, ...google(2.5, 15) } },
  'google/gemini-2.5-flash': google(0.3, 2.5),
  'google/gemini-2.5-flash-lite': google(0.1, 0.4),
}
