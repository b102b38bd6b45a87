// The quickstart: one tool, one agent, its words as they come, and a human who is asked before money moves.
import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  description: 'Refunds part of an order, in euros.',
  effect: 'write',
  input: z.object({ orderId: z.string(), amount: z.number() }),
  needsApproval: ({ amount }) => amount > 50,
  execute: ({ orderId, amount }) => `refunded ${amount} on ${orderId}`,
})

// Without a real model, such as PROVOST_MODEL=anthropic/claude-sonnet-5, two scripted responses.
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    {
      toolCalls: [{ name: 'refund', input: { orderId: '17', amount: 80 } }],
      usage: { inputTokens: 50, outputTokens: 20 },
    },
    { text: ['You get ', '80 euros ', 'back.'], usage: { inputTokens: 70, outputTokens: 9 } },
  ])

const desk = createAgent({ name: 'desk', instructions: 'Help with orders.', model, tools: [refund] })

const stream = desk.stream('Refund order 17, 80 euros', {
  onApproval: ({ toolName, input, reason }) => {
    console.log(`May I ${toolName} ${JSON.stringify(input)}? (${reason})`) // → May I refund {"orderId":"17","amount":80}? (refund needs approval)
    return 'approve'
  },
})
for await (const event of stream) if (event.type === 'text.delta') process.stdout.write(event.delta)
process.stdout.write('\n') // → You get 80 euros back.

const { status, usage, cost, error } = await stream.result
if (error) console.error(error.message, error.hint)
console.log(status, usage.inputTokens, cost ?? 'unpriced') // → completed 120 unpriced
