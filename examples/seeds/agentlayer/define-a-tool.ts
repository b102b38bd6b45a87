// A tool has a typed input. The model reads its JSON Schema.
// Changed: a tool is made by `tool()`, with any schema language; it says what it does to the world (`effect`).
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const initials = tool({
  name: 'initials',
  description: 'Shortens a name.',
  effect: 'none',
  input: z.object({ person: z.string() }),
  execute: ({ person }) => person.replaceAll(/\B.|\s/g, ''),
})
// Without a schema library: JSON Schema, as it is.
const wave = tool({
  name: 'wave',
  effect: 'none',
  input: { type: 'object', properties: { times: { type: 'integer' } }, required: ['times'] },
  execute: ({ times }) => `waved ${times} times`,
})

let schema: unknown
const model = scriptedModel([
  ({ tools }) => {
    schema = tools[0]?.type === 'function' && tools[0].inputSchema
    return {
      toolCalls: [
        { name: 'initials', input: { person: 'Ada Lovelace' } },
        { name: 'wave', input: { times: 2 } },
        { name: 'initials', input: { person: 7 } },
      ],
    }
  },
  { text: 'Done.' },
])
const results: unknown[] = []
const errors: string[] = []
for await (const event of createAgent({ name: 'host', model, tools: [initials, wave] }).stream('Introduce Ada')) {
  if (event.type === 'tool.execute.end') results.push(event.output)
  if (event.type === 'tool.execute.error') errors.push(event.error.code ?? '')
}
assert.deepEqual(Object(schema).properties, { person: { type: 'string' } })
assert.deepEqual(results, [
  { type: 'text', value: 'AL' },
  { type: 'text', value: 'waved 2 times' },
])
assert.deepEqual(errors, ['invalid-tool-input'])
console.log('two kinds of schema, one wrong input') // → two kinds of schema, one wrong input
