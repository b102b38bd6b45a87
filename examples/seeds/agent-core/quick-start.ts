// A prompt, a calculator, the events of both, and the messages at the end.
// Changed: no provider or registry has to be made; a model and a list of tools are enough.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const calculator = tool({
  name: 'multiply',
  effect: 'none',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a * b,
})
const model = scriptedModel([
  { toolCalls: [{ name: 'multiply', input: { a: 6, b: 7 } }] },
  { text: ['6 times 7 ', 'is 42.'] },
])
const agent = createAgent({ name: 'helper', instructions: 'You help.', model, tools: [calculator] })

let text = ''
const tools: string[] = []
const stream = agent.stream('What is 6 times 7?')
for await (const event of stream) {
  switch (event.type) {
    case 'tool.execute.start':
      tools.push(event.toolName)
      break
    case 'text.delta':
      text += event.delta
  }
}
assert.deepEqual(tools, ['multiply'])
assert.equal(text, '6 times 7 is 42.')

const { messages, text: answer } = await stream.result
assert.deepEqual(
  messages.map(({ role }) => role),
  ['user', 'assistant', 'tool', 'assistant'],
)
const [result] = messages[2]?.content ?? []
assert.deepEqual(result?.type === 'tool-result' && result.output, { type: 'json', value: 42 })
console.log(answer) // → 6 times 7 is 42.
