import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const status = tool({
  name: 'order_status',
  effect: 'read',
  input: z.object({ order: z.number() }),
  execute: ({ order }) => `order ${order} was sent on Monday`,
})

/** A desk with one tool. Its two answers are scripted. */
export const createDesk = ({ extensions }) =>
  createAgent({
    name: 'desk',
    instructions: 'Answer questions about orders.',
    model: scriptedModel([
      {
        toolCalls: [{ name: 'order_status', input: { order: 17 } }],
        usage: { inputTokens: 120, outputTokens: 15 },
      },
      { text: 'It was sent on Monday.', usage: { inputTokens: 150, outputTokens: 7 } },
    ]),
    prices: { 'scripted/scripted-model': { input: 2, output: 8 } },
    tools: [status],
    extensions,
  })
