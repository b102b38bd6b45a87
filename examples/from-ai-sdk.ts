// From the AI SDK: the same tool in a ToolLoopAgent and here, its history taken along, and a question that a human answers later.
import { isStepCount, tool as aiTool, ToolLoopAgent } from 'ai'
import { createAgent, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const refund = aiTool({
  description: 'Refunds an order, in euros.',
  inputSchema: z.object({ orderId: z.string(), amount: z.number() }),
  needsApproval: ({ amount }) => amount > 50,
  execute: ({ orderId, amount }) => `refunded ${amount} on ${orderId}`,
})
const refunds = (amount: number) =>
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [{ name: 'refund', input: { orderId: '17', amount } }] },
    { text: [`You get ${amount} `, 'euros back.'] },
  ])

const loop = new ToolLoopAgent({
  model: refunds(40),
  instructions: 'Help with orders.',
  tools: { refund },
  stopWhen: isStepCount(20),
})
const { text, responseMessages } = await loop.generate({ prompt: 'Refund order 17, 40 euros' })
console.log(text) // → You get 40 euros back.

const desk = createAgent({
  name: 'desk',
  model: refunds(80),
  instructions: 'Help with orders.',
  tools: { refund },
  maxSteps: 20,
})
const messages = [{ role: 'user' as const, content: 'Refund order 17, 40 euros' }, ...responseMessages]
const session = await desk.createSession({ messages })
console.log(session.messages.length, session.repairs) // → 4 []

const stream = session.stream('And 80 more')
for await (const event of stream) {
  if (event.type === 'tool.call.end') console.log('wants', JSON.stringify(event.input))
  if (event.type === 'text.delta') process.stdout.write(event.delta)
}
// → wants {"orderId":"17","amount":80}
const { status, pending } = await stream.result
console.log(status, pending.approvals.length) // → suspended 1

// The caller keeps no messages for the answer: the session knows its state.
const approvals = pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const, by: 'boss' }))
await session.resolve({ approvals })
console.log((await session.waitForIdle())?.text) // → You get 80 euros back.
