// Hooks that answer are a chain: each one gets what the one before it made of the request, the call or the result.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, isCallTo, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const sum = tool({
  name: 'sum',
  effect: 'none',
  input: z.object({ of: z.array(z.string()) }),
  execute: ({ of }) => of.join(' + '),
})
const seen: string[] = []
const adds = (name: string) =>
  defineExtension({
    name,
    hooks: {
      'model.request'(request) {
        seen.push(`${name} sees ${request.tail.length} in the tail`)
        return { tail: [{ content: `A hint of ${name}.` }], tools: ['sum'] }
      },
      'tool.call': (call) => (isCallTo(call, sum) ? { args: { of: [...call.input.of, name] } } : undefined),
      'tool.result'(result) {
        if (result.output.type !== 'text') return undefined
        const value = `${result.output.value}, ${name}`
        return { ...result, value, output: { type: 'text', value } }
      },
    },
  })
const rest = tool({ name: 'rest', effect: 'none', input: z.object({}), execute: () => 'rest' })
const model = scriptedModel([
  ({ messages, tools }) => {
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['sum'],
    )
    const text = JSON.stringify(messages)
    assert.ok(text.indexOf('A hint of first.') < text.indexOf('A hint of second.'))
    return { toolCalls: [{ name: 'sum', input: { of: ['model'] } }] }
  },
  { text: 'Done.' },
])
// The third hook returns nothing, which changes nothing.
const nothing = () => undefined
const silent = defineExtension({ name: 'silent', hooks: { 'tool.call': nothing, 'tool.result': nothing } })
const extensions = [adds('first'), adds('second'), silent]
const agent = createAgent({ name: 'adder', model, tools: [sum, rest], extensions })

let output = ''
for await (const event of agent.stream('Add.'))
  if (event.type === 'tool.execute.end' && event.output.type === 'text') output = event.output.value

assert.deepEqual(seen.slice(0, 2), ['first sees 0 in the tail', 'second sees 1 in the tail'])
assert.equal(output, 'model + first + second, first, second')
console.log(output) // → model + first + second, first, second
