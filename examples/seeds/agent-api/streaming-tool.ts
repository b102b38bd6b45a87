// A tool streams its output while it runs. The interface also receives details, which the model does not read.
// Changed: it yields plain values instead of events, and what it returns is the result.
import assert from 'node:assert/strict'

import { createAgent, rich, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const shelf = ['Rope splicing', 'Knots for all', 'Rope and water']
const search = tool({
  name: 'search_books',
  title: 'Search the shelf',
  effect: 'read',
  input: z.object({ word: z.string() }),
  async *execute({ word }) {
    yield `Books on "${word}":\n`
    const found = shelf.filter((title) => title.includes(word))
    for (const title of found) yield `* ${title}\n`
    return rich(`Found: ${found.join(', ')}`, { details: { count: found.length } })
  },
})
let read = ''
const model = scriptedModel([
  { toolCalls: [{ name: 'search_books', input: { word: 'Rope' } }] },
  ({ messages }) => {
    read = JSON.stringify(messages.at(-1))
    return { text: 'Two books.' }
  },
])
let shown = ''
for await (const event of createAgent({ name: 'clerk', model, tools: [search] }).stream('Anything on rope?')) {
  if (event.type === 'tool.execute.partial' && 'delta' in event) shown += event.delta
  if (event.type !== 'tool.execute.end') continue
  assert.deepEqual(event.output, { type: 'text', value: 'Found: Rope splicing, Rope and water' })
  assert.deepEqual(event.details, { count: 2 })
}
assert.equal(shown, 'Books on "Rope":\n* Rope splicing\n* Rope and water\n')
assert.match(read, /Rope and water/)
assert.doesNotMatch(read, /count/)
console.log(shown.split('\n').length - 1, 'lines before the result') // → 3 lines before the result
