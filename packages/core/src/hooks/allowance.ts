import type { Grant, Spending } from '../messages/usage.ts'
import type { Peers } from './hook-context.ts'
import type { PlannedCall } from './hooks.ts'

/** What a model call may spend, or that it has to wait, or that nothing is left for it. */
export type Admission =
  | { readonly outcome: 'go'; readonly maxOutputTokens?: number; readonly reserve: Partial<Spending> }
  /** Other calls have set aside what it needs. */
  | { readonly outcome: 'wait' }
  | { readonly outcome: 'over'; readonly why: 'used-up' | 'unpriced' }

/** Output that is expected of a call which names no limit, in tokens. */
const usualOutput = 1024
/** The least output that a call is admitted with: providers refuse less. */
const leastOutput = 16

/**
 * Says what a model call may spend of what is left of a budget. Input and output of calls side by side fit into it
 * together. A call that is alone starts as long as anything is left: it goes over by no more than its own input and 16 tokens.
 *
 * @param left of the budget, without what other calls have set aside.
 * @param isChild whether other children may want a part.
 *
 * @example
 * admit({ tokens: 1000 }, { inputTokens: 100, params: {} }, { running: 1, reserving: 0 }, false)
 * // { outcome: 'go', maxOutputTokens: 900, reserve: { tokens: 1000 } }
 */
export function admit(
  left: Grant,
  call: Pick<PlannedCall, 'inputTokens' | 'params' | 'price' | 'purpose'>,
  { running, reserving }: Peers,
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
  // Whatever is not capped is shared with those who may ask next, unless a share is too little to be of use.
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

/** Output tokens that money buys behind an input; negative where it does not pay for the input. */
function outputFor(cost: number, inputTokens: number, price: PlannedCall['price']): number {
  if (!price || cost === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  const beside = cost - dollars(inputTokens, 0, price)
  if (price.output > 0) return (beside * 1_000_000) / price.output
  return beside >= 0 ? Number.POSITIVE_INFINITY : -1
}

function dollars(input: number, output: number, price: NonNullable<PlannedCall['price']>): number {
  return (input * price.input + output * price.output) / 1_000_000
}
