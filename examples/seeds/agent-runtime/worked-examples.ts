// Worked examples of a tool are part of what the model reads about it.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const book = tool({
  name: 'book_table',
  description: 'Books a table.',
  effect: 'write',
  input: z.object({ at: z.string(), people: z.number().int() }),
  examples: [
    { input: { at: '2026-05-01T19:30', people: 2 }, output: 'table 7', note: 'Half past seven in the evening.' },
    { input: { at: '2026-05-01T12:00', people: 5 } },
  ],
  execute: ({ people }) => `a table for ${people}`,
})
let told = ''
const model = scriptedModel([
  ({ tools: [first] }) => {
    told = JSON.stringify(first)
    return { toolCalls: [{ name: 'book_table', input: { at: '2026-06-02T20:00', people: 3 } }] }
  },
  { text: 'Booked.' },
])
const { text } = await createAgent({ name: 'concierge', model, tools: [book] }).run('Tomorrow at eight, three of us.')

for (const part of ['2026-05-01T19:30', 'table 7', 'Half past seven', '2026-05-01T12:00'])
  assert.ok(told.includes(part))
assert.equal(text, 'Booked.')
console.log(`${told.match(/2026-05/g)?.length ?? 0} examples, ${text}`) // → 2 examples, Booked.
