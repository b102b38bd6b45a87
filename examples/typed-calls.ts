// Approvals and events with the input and output types of a tool.
import { createAgent, isCallTo, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  effect: 'write',
  needsApproval: true,
  input: z.object({ orderId: z.string(), amount: z.number() }),
  execute: ({ orderId, amount }) => ({ orderId, refunded: amount }),
})
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [{ name: 'refund', input: { orderId: '17', amount: 30 } }] },
    { text: 'I refunded 30 euros.' },
  ])
const desk = createAgent({ name: 'desk', instructions: 'Help with orders.', model, tools: [refund] })

const stream = desk.stream('Refund order 17, 30 euros', {
  onApproval: (approval) => (isCallTo(approval, refund, desk) && approval.input.amount < 50 ? 'approve' : undefined),
})
for await (const event of stream) {
  if (event.type !== 'tool.execute.end' || !isCallTo(event, refund, desk)) continue
  if (event.output.type === 'json') console.log(event.output.value.refunded) // → 30
}
console.log((await stream.result).status) // → completed
