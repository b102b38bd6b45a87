// The order of events in a turn with two calls.
// Changed: the events are finer. `message.end`, `tool.call.end`, `tool.execute.end`, `step.end` and `turn.end` take the
// places of five of the seven. A step encloses its tools, so it ends after their results.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const square = tool({
  name: 'square',
  effect: 'none',
  input: z.object({ of: z.number() }),
  execute: ({ of }) => of * of,
})
const usage = { inputTokens: 20, outputTokens: 5 }
const model = scriptedModel([
  {
    text: ['Let me ', 'see.'],
    toolCalls: [2, 3].map((of) => ({ name: 'square', input: { of } })),
    usage,
  },
  { text: ['Four ', 'and nine.'], usage },
])
const stream = createAgent({ name: 'calculator', model, tools: [square] }).stream('Squares of 2 and 3?')

const shown = ['message.end', 'text.delta', 'tool.call.end', 'tool.execute.start', 'tool.execute.end']
const order: string[] = []
for await (const event of stream) {
  if ([...shown, 'step.end', 'turn.end', 'agent.error'].includes(event.type)) order.push(event.type)
  if (event.type === 'step.end') assert.deepEqual(event.usage, usage)
  if (event.type === 'turn.end') assert.equal(event.text, 'Four and nine.')
}
assert.deepEqual(order, [
  'message.end',
  ...['text.delta', 'text.delta', 'tool.call.end', 'tool.call.end', 'message.end'],
  ...['tool.execute.start', 'tool.execute.start', 'tool.execute.end', 'tool.execute.end', 'message.end', 'step.end'],
  ...['text.delta', 'text.delta', 'message.end', 'step.end', 'turn.end'],
])
console.log(`${order.length} events in order`) // → 17 events in order
