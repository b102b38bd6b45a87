// A tool without anything to stream is a function; no helper turns it into a stream.
// Changed: the calculator of the design evaluates what the model writes. Here it takes numbers.
import assert from 'node:assert/strict'

import { createAgent, rich, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const divide = tool({
  name: 'divide',
  effect: 'none',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => rich(`${a} : ${b} = ${a / b}`, { details: { quotient: a / b } }),
})
const model = scriptedModel([{ toolCalls: [{ name: 'divide', input: { a: 84, b: 2 } }] }, { text: '42.' }])
const types: string[] = []
for await (const event of createAgent({ name: 'helper', model, tools: [divide] }).stream('84 : 2?')) {
  if (event.type.startsWith('tool.execute.')) types.push(event.type)
  if (event.type !== 'tool.execute.end') continue
  assert.deepEqual(event.output, { type: 'text', value: '84 : 2 = 42' })
  assert.deepEqual(event.details, { quotient: 42 })
}
assert.deepEqual(types, ['tool.execute.start', 'tool.execute.end'])
console.log(types.join(' ')) // → tool.execute.start tool.execute.end
