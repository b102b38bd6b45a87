// The event `turn.mode` reports what follows an answer: `steer` with the number of calls, or `respond`.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const calculator = tool({
  name: 'calculator',
  effect: 'none',
  executionMode: 'sequential',
  input: z.object({ a: z.number(), op: z.enum(['+', '*']), b: z.number() }),
  execute: ({ a, op, b }) => (op === '+' ? a + b : a * b),
})
const model = scriptedModel([
  {
    reasoning: 'Two sums.',
    toolCalls: [
      { name: 'calculator', input: { a: 12, op: '*', b: 4 } },
      { name: 'calculator', input: { a: 20, op: '+', b: 2 } },
    ],
  },
  { text: '48 and 22.' },
])
const flow: string[] = []
for await (const event of createAgent({ name: 'helper', model, tools: [calculator] }).stream('12*4 and 20+2?')) {
  if (event.type === 'turn.start' || event.type === 'turn.end') flow.push(event.type)
  if (event.type === 'turn.mode') flow.push(`${event.mode} ${event.queueSize}`)
  if (event.type === 'reasoning.delta' || event.type === 'text.delta') flow.push(event.delta)
  if (event.type === 'tool.execute.start') flow.push('call')
  if (event.type === 'tool.execute.end') flow.push(`= ${JSON.stringify(event.output)}`)
}
assert.deepEqual(flow, [
  'turn.start',
  ...['Two sums.', 'steer 2', 'call', '= {"type":"json","value":48}', 'call', '= {"type":"json","value":22}'],
  ...['48 and 22.', 'respond 0', 'turn.end'],
])
console.log(flow.filter((one) => /^(steer|respond)/.test(one)).join(', then ')) // → steer 2, then respond 0
