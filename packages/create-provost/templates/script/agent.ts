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

/** Two scripted answers, in place of a real model: a call, and a text once its result is there. */
const scripted = () =>
  scriptedModel(
    [
      ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? { text: ['Order 17 was ', 'sent on Monday.'] }
          : { toolCalls: [{ name: 'order_status', input: { orderId: '17' } }] },
    ],
    { after: 'repeat-last' },
  )

/** The agent that `npm start` and the command line run. */
export const desk = createDesk(process.env.PROVOST_MODEL ?? scripted())

// Only when this file is started, not when a test imports it.
if (process.argv[1] === import.meta.filename) {
  const question = process.argv[2] ?? 'Where is order 17?'
  const stream = desk.stream(question)
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
