// A toolApproval function of the AI SDK as an extension: a policy that a team already has is kept. opaPolicy() of
// @ai-sdk/policy-opa, whose rules are written in Rego, is passed in the same way.
import { approvalFrom } from '@provost/guard'
import { scriptedModel } from '@provost/testing'
import { createAgent, tool, z } from 'provost'

const refund = tool({
  name: 'refund',
  description: 'Refunds an order.',
  effect: 'write',
  input: z.object({ orderId: z.string(), cents: z.number() }),
  execute: ({ orderId, cents }) => `refunded ${cents} on ${orderId}`,
})

/** As the AI SDK calls it. */
const policy = ({ toolCall }: { toolCall: { input: { cents: number } } }) => {
  if (toolCall.input.cents > 10_000) return { type: 'denied', reason: 'Refunds over 100 euros are made by hand.' }
  return toolCall.input.cents > 1_000 ? 'user-approval' : undefined
}

const model = scriptedModel([
  ...[500, 5_000, 50_000].map((cents) => ({ toolCalls: [{ name: 'refund', input: { orderId: '17', cents } }] })),
  { text: 'Done.' },
])
const desk = createAgent({ name: 'desk', model, tools: [refund], extensions: [approvalFrom(policy)] })

const stream = desk.stream('Refund order 17.', { onApproval: () => 'approve' })
for await (const event of stream) {
  if (event.type === 'tool.approval.requested') console.log(`asks: ${event.reason}`)
  if (event.type === 'tool.execute.end') console.log(event.output)
  if (event.type === 'tool.execute.error') console.log(`denied: ${event.error.message}`)
}
// → { type: 'text', value: 'refunded 500 on 17' }
// → asks: A policy asks about refund.
// → { type: 'text', value: 'refunded 5000 on 17' }
// → denied: Refunds over 100 euros are made by hand.
