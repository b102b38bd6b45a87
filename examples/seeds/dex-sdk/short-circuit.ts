// A hook answers a call itself: the tool does not run, and the model cannot tell.
// Changed: such an answer states its label, because a policy has to know where the value comes from.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

let ran = 0
const price = tool({
  name: 'price',
  effect: 'read',
  input: z.object({ of: z.string() }),
  execute: () => (ran++, 5),
})
const desk = defineExtension({
  name: 'price-list',
  hooks: {
    'tool.call'({ input }) {
      const known = new Map([['tea', 3]]).get(String(Reflect.get(Object(input), 'of')))
      return known === undefined ? undefined : { result: known, label: { sources: ['price list'] } }
    },
  },
})
const model = scriptedModel([
  { toolCalls: ['tea', 'coffee'].map((of) => ({ name: 'price', input: { of } })) },
  { text: 'Three and five.' },
])
const agent = createAgent({ name: 'waiter', model, tools: [price], extensions: [desk] })

const sources: string[] = []
const outputs: unknown[] = []
for await (const event of agent.stream('What are tea and coffee?'))
  if (event.type === 'tool.execute.end') {
    sources.push(event.via)
    outputs.push('value' in event.output && event.output.value)
  }

assert.equal(ran, 1)
assert.deepEqual(sources, ['hook', 'executed'])
assert.deepEqual(outputs, [3, 5])
console.log(`one of two calls ran, the other came by ${sources[0]}`) // → one of two calls ran, the other came by hook
