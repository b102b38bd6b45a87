import { checkArguments } from '@provost/core'
import type { Usage } from '@provost/core'

import { prices as known } from './price-table.ts'
import { tableKeys } from './table-keys.ts'

/** US dollars for a million tokens. */
export interface Rates {
  readonly input: number
  readonly output: number
  /** Input read from the provider's cache. Default: `input`. */
  readonly cacheRead?: number
  /** Input written to the provider's cache. Default: `input`. */
  readonly cacheWrite?: number
}

/** The rates of a model. */
export interface Price extends Rates {
  /** Rates for a whole request whose input is longer than `above` tokens. */
  readonly long?: Rates & { readonly above: number }
}

/** Prices by `provider/model`, as {@link modelName} returns it. */
export type PriceTable = Readonly<Record<string, Price>>

/** The day the built-in prices were last checked. */
export const pricesAsOf: string = '2026-10-27'

/**
 * Returns the price of a model; `undefined` if it is unknown, never 0.
 *
 * @param model `provider/model`; a leading `gateway/`, a date at the end and the gateway's dots (`claude-opus-4.8` for
 *   `claude-opus-4-8`) make no difference.
 * @param prices your own prices, which go before the built-in ones.
 *
 * @example
 * priceOf('anthropic/claude-sonnet-5')?.output // 10
 * priceOf('local/mine', { 'local/mine': { input: 0, output: 0 } })
 */
export function priceOf(model: string, prices?: PriceTable): Price | undefined {
  checkArguments('priceOf', [model, prices], ['text', 'object?'])
  if (prices) return lookUp(model, prices)
  if (!found.has(model)) {
    if (found.size >= mostRemembered) found.clear()
    found.set(model, lookUp(model))
  }
  return found.get(model)
}

/**
 * Returns the rates for a request of about this length, in US dollars per million tokens; undefined if they are
 * unknown.
 */
export function priceFor(
  model: string,
  inputTokens: number,
  prices?: PriceTable,
): { readonly input: number; readonly output: number } | undefined {
  const price = priceOf(model, prices)
  if (!price) return undefined
  const { input, output, cacheWrite = 0 } = price.long && inputTokens > price.long.above ? price.long : price
  return { input: Math.max(input, cacheWrite), output }
}

/** The entry of the built-in table by name, which each model call needs. */
const found = new Map<string, Price | undefined>()
const mostRemembered = 1000

function lookUp(model: string, prices?: PriceTable): Price | undefined {
  for (const key of tableKeys(model)) {
    const price = own(prices, key) ?? own(known, key)
    if (price) return price
  }
  return undefined
}

function own(table: PriceTable | undefined, key: string): Price | undefined {
  return table && Object.hasOwn(table, key) ? table[key] : undefined
}

/**
 * Returns the cost of a usage in US dollars; `undefined` if the price or the usage is unknown.
 *
 * Cached tokens are part of `inputTokens` and are counted at their own rates.
 *
 * @example
 * costOf({ inputTokens: 1_000_000, cacheReadTokens: 900_000, outputTokens: 1000 }, 'anthropic/claude-sonnet-5') // 0.39
 */
export function costOf(usage: Usage, model: string, prices?: PriceTable): number | undefined {
  const price = priceOf(model, prices)
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage
  if (!price || (inputTokens === undefined && outputTokens === undefined)) return undefined
  const cached = cacheReadTokens + cacheWriteTokens
  const input = Math.max(inputTokens ?? 0, cached)
  const rates = price.long && input > price.long.above ? price.long : price
  const dollars =
    (input - cached) * rates.input +
    cacheReadTokens * (rates.cacheRead ?? rates.input) +
    cacheWriteTokens * (rates.cacheWrite ?? rates.input) +
    (outputTokens ?? 0) * rates.output
  return dollars / 1_000_000
}
