import { checkOptions, isRecord, ProvostError } from '@provost/core'
import type { KnownKeys } from '@provost/core'

import type { Price } from './price.ts'

const rateKeys = { input: true, output: true, cacheRead: true, cacheWrite: true } as const
const priceKeys = { ...rateKeys, long: true } satisfies KnownKeys<Price>
const longKeys = { ...rateKeys, above: true } satisfies KnownKeys<NonNullable<Price['long']>>

/**
 * Rejects invalid prices: a cost of NaN would exceed no budget.
 *
 * @throws ProvostError `invalid-price`, `unknown-option`
 */
export function checkPrices(prices: unknown, where: string): void {
  if (prices === undefined) return
  if (!isRecord(prices)) throw invalid(`"prices" of ${where} is not an object`)
  for (const [model, price] of Object.entries(prices)) {
    if (price === undefined) continue
    const place = `the price of ${JSON.stringify(model.slice(0, 100))} in ${where}`
    checkRates(price, priceKeys, place)
    const { long }: Record<string, unknown> = isRecord(price) ? price : {}
    if (long !== undefined) checkRates(long, longKeys, `"long" of ${place}`)
  }
}

function checkRates(rates: unknown, known: Readonly<Record<string, true>>, place: string): void {
  checkOptions(rates, known, place)
  const given: Readonly<Record<string, unknown>> = isRecord(rates) ? rates : {}
  for (const name of Object.keys(known)) {
    const rate = given[name]
    const needed = name === 'input' || name === 'output' || name === 'above'
    if (name === 'long' || (rate === undefined && !needed)) continue
    if (typeof rate === 'number' && Number.isFinite(rate) && rate >= 0) continue
    throw invalid(
      `${place} has ${name}: ${typeof rate === 'string' ? JSON.stringify(rate.slice(0, 40)) : String(rate)}`,
    )
  }
}

function invalid(what: string): ProvostError {
  return new ProvostError('invalid-price', `${what.charAt(0).toUpperCase()}${what.slice(1)}.`, {
    hint: "Give US dollars for a million tokens: { 'local/mine': { input: 0.5, output: 2 } }.",
  })
}
