import { createAgent, tool, z } from 'provost'
import type { AgentOptions, SessionStore } from 'provost'

import { scripted } from './scripted.ts'

export const refund = tool({
  name: 'refund',
  description: 'Refunds part of an order, in euros.',
  effect: 'write',
  input: z.object({ orderId: z.string(), amount: z.number().positive() }),
  needsApproval: ({ amount }) => amount > 50,
  execute: ({ orderId, amount }) => `refunded ${amount} euros on order ${orderId}`,
})

/** An agent that refunds orders, and asks before it refunds more than 50 euros. */
export function createDesk(model: AgentOptions['model'], store?: SessionStore) {
  return createAgent({
    name: 'desk',
    instructions: 'Help with orders.',
    model,
    tools: [refund],
    ...(store && { store }),
  })
}

/** The agent that the command line runs, in a store of its own. */
export const desk = createDesk(process.env.PROVOST_MODEL ?? scripted())
