import { createAgent, filters, tool, z } from 'provost'
import type { AgentOptions, SessionStore } from 'provost'

import { scripted } from './scripted.ts'

const orders = new Map([
  ['17', { item: 'shirt', euros: 80, state: 'delivered' }],
  ['23', { item: 'shoes', euros: 120, state: 'being packed' }],
])

const lookUp = tool({
  name: 'look_up',
  description: 'Returns the item, price and state of an order.',
  effect: 'read',
  input: z.object({ orderId: z.string() }),
  execute: ({ orderId }) => orders.get(orderId) ?? 'unknown order',
})

const refund = tool({
  name: 'refund',
  description: 'Refunds an order, in euros.',
  effect: 'write',
  input: z.object({ orderId: z.string(), euros: z.number().positive() }),
  needsApproval: true,
  execute: ({ orderId, euros }) => `refunded ${euros} euros on order ${orderId}`,
})

/** The models of the team, by agent. */
export type Models = Readonly<Record<'desk' | 'warehouse' | 'billing', AgentOptions['model']>>

/**
 * A desk that answers customers, and two specialists as its tools. A specialist has tools of its own and sees only the last
 * message of the customer and its task.
 */
export function createTeam(models: Models, store?: SessionStore) {
  const warehouse = createAgent({
    name: 'warehouse',
    instructions: 'Answer questions about orders.',
    model: models.warehouse,
    tools: [lookUp],
  })
  const billing = createAgent({
    name: 'billing',
    instructions: 'Refund what the task asks for, once.',
    model: models.billing,
    tools: [refund],
  })
  return createAgent({
    name: 'desk',
    instructions: 'Help customers with their orders. Ask the warehouse about an order before billing refunds it.',
    model: models.desk,
    ...(store && { store }),
    tools: [
      warehouse.toTool({ name: 'ask_warehouse', description: 'Asks about an order.', inputFilter: filters.lastUser() }),
      billing.toTool({ name: 'ask_billing', description: 'Asks for a refund.', inputFilter: filters.lastUser() }),
    ],
  })
}

/** One model for all three, or scripted answers. */
export function modelsOf(model: string | undefined): Models {
  return model === undefined ? scripted() : { desk: model, warehouse: model, billing: model }
}

/** The team that the command line runs, in a store of its own. */
export const desk = createTeam(modelsOf(process.env.PROVOST_MODEL))
