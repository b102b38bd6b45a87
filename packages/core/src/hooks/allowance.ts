import type { Grant, Spending } from '../messages/usage.ts'
import type { RunPeers } from './hook-context.ts'
import type { PlannedCall } from './hooks.ts'

/** Whether a model call may start and what it may spend, or that it has to wait, or that the budget is used up. */
export type Admission =
  | { readonly outcome: 'go'; readonly maxOutputTokens?: number; readonly reserve: Partial<Spending> }
  /** Other calls have reserved what it needs. */
  | { readonly outcome: 'wait' }
  | { readonly outcome: 'over'; readonly why: 'used-up' | 'unpriced' }

/** Expected output of a call without a limit, in tokens. */
const usualOutput = 1024
/** The smallest output limit, in tokens: providers refuse less. */
const leastOutput = 16

/**
 * Returns what a model call may spend of the rest of a budget. Input and output of concurrent calls fit into it together.
 * A single call starts as long as anything is left: it exceeds the budget by at most its own input and 16 tokens.
 *
 * @param left of the budget, without the reservations of other calls.
 * @param isChild whether other children may need a share.
 *
 * @example
 * admit({ tokens: 1000 }, { inputTokens: 100, params: {} }, { running: 1, reserving: 0 }, false)
 * // { outcome: 'go', maxOutputTokens: 900, reserve: { tokens: 1000, steps: 1 } }
 */
export function admit(
  left: Grant,
  call: Pick<PlannedCall, 'inputTokens' | 'params' | 'price' | 'purpose'>,
  { running, reserving }: RunPeers,
  isChild: boolean,
): Admission {
  const { inputTokens, price, purpose, params } = call
  const { tokens = Number.POSITIVE_INFINITY, cost = Number.POSITIVE_INFINITY, steps = Number.POSITIVE_INFINITY } = left
  const takesStep = purpose === undefined
  if (cost < Number.POSITIVE_INFINITY && !price) return { outcome: 'over', why: 'unpriced' }
  const roomForMoney = outputFor(cost, inputTokens, price)
  const room = Math.min(tokens - inputTokens, roomForMoney)
  const asked = params.maxOutputTokens ?? Number.POSITIVE_INFINITY
  const wanted = Math.min(asked, usualOutput)
  const stepLeft = !takesStep || steps >= 1
  if (reserving > 0) {
    if (room < wanted || !stepLeft) return { outcome: 'wait' }
  } else if (!(tokens > 0 && cost > 0 && stepLeft)) return { outcome: 'over', why: 'used-up' }
  // Uncapped output is shared with calls that may follow, unless a share is too small to be useful.
  const sharers = Math.max(running, isChild || !takesStep ? 2 : 1)
  const share = room / sharers
  const output = Math.max(leastOutput, Math.floor(Math.min(asked, share < wanted ? room : share)))
  const most = output < Number.POSITIVE_INFINITY ? Math.min(asked, output) : undefined
  return {
    outcome: 'go',
    ...(most !== undefined && { maxOutputTokens: most }),
    reserve: {
      ...(tokens < Number.POSITIVE_INFINITY && { tokens: inputTokens + (most ?? 0) }),
      ...(price && cost < Number.POSITIVE_INFINITY && { cost: dollars(inputTokens, most ?? 0, price) }),
      ...(takesStep && { steps: 1 }),
    },
  }
}

/** Output tokens that the money buys after the input; negative where it does not cover the input. */
function outputFor(cost: number, inputTokens: number, price: PlannedCall['price']): number {
  if (!price || cost === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  const beside = cost - dollars(inputTokens, 0, price)
  if (price.output > 0) return (beside * 1_000_000) / price.output
  return beside >= 0 ? Number.POSITIVE_INFINITY : -1
}

function dollars(input: number, output: number, price: NonNullable<PlannedCall['price']>): number {
  return (input * price.input + output * price.output) / 1_000_000
}
