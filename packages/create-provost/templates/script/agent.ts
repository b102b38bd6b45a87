import { createAgent, tool, z } from 'provost'
import type { AgentOptions } from 'provost'
import { scriptedModel } from 'provost/testing'

const orders = new Map([
  ['17', 'sent on Monday'],
  ['23', 'being packed'],
])

export const orderStatus = tool({
  name: 'order_status',
  description: 'Returns the status of an order.',
  effect: 'read',
  input: z.object({ orderId: z.string() }),
  execute: ({ orderId }) => orders.get(orderId) ?? 'unknown order',
})

/** An agent that answers questions about orders. */
export function createDesk(model: AgentOptions['model']) {
  return createAgent({
    name: 'desk',
    instructions: 'Answer questions about orders. Look each order up.',
    model,
    tools: [orderStatus],
  })
}

/** Two scripted answers, in place of a real model. */
const scripted = () =>
  scriptedModel([
    { toolCalls: [{ name: 'order_status', input: { orderId: '17' } }] },
    { text: ['Order 17 was ', 'sent on Monday.'] },
  ])

// Only when this file is started, not when a test imports it.
if (process.argv[1] === import.meta.filename) {
  const question = process.argv[2] ?? 'Where is order 17?'
  const stream = createDesk(process.env.PROVOST_MODEL ?? scripted()).stream(question)
  for await (const event of stream) {
    if (event.type === 'tool.execute.start') console.log(`(${event.toolName} ${JSON.stringify(event.input)})`)
    if (event.type === 'text.delta') process.stdout.write(event.delta)
  }
  const { status, error } = await stream.result
  console.log(`\n${status}`)
  if (error) {
    console.error(error.message, error.hint ?? '')
    process.exitCode = 1
  }
}
