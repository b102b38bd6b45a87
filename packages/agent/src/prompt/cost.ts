import type { Usage } from '@provost/core'
import type { PriceTable } from '@provost/provider'
import { costOf } from '@provost/provider'

/** Returns the usage of a model call, with its cost in US dollars if the price is known. */
export function withCost(
  usage: Usage,
  model: string,
  prices: PriceTable | undefined,
): { readonly usage: Usage; readonly cost?: number } {
  const cost = costOf(usage, model, prices)
  return cost === undefined ? { usage } : { usage, cost }
}
