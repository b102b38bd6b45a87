// A long result stays outside of the context: the model gets its beginning and a handle, and reads what it needs.
// Changed: what is kept is in the store of the session, not in files, so that it goes with it to another machine.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const rows = Array.from({ length: 4000 }, (_, at) => ({ id: at, note: at === 3210 ? 'lost' : 'fine' }))
const stock = tool({
  name: 'stock',
  effect: 'read',
  input: z.object({}),
  maxResultTokens: 100,
  truncation: 'spill',
  execute: () => rows.map((row) => JSON.stringify(row)).join('\n'),
})
let handle = ''
const read = (input: object) => ({ toolCalls: [{ name: 'read_result', input }] })
const model = scriptedModel([
  { toolCalls: [{ name: 'stock' }] },
  ({ messages }) => {
    handle = /res_[\w-]+/.exec(JSON.stringify(messages.at(-1)))?.[0] ?? ''
    return read({ handle, lines: { from: 3211, to: 3211 } })
  },
  () => read({ handle, bytes: { from: 0, to: 8 } }),
  read({ handle: '../../etc/passwd', bytes: { from: 0, to: 8 } }),
  read({ handle: 'res_guessed', bytes: { from: 0, to: 8 } }),
  read({ handle: 'notes://today', bytes: { from: 0, to: 5 } }),
  { text: 'Number 3210 is lost.' },
])
const resultReaders = {
  notes: (_: string, { from, to }: { from: number; to: number }) => 'hello world'.slice(from, to),
}
const agent = createAgent({ name: 'keeper', model, tools: [stock], resultReaders })

const outcomes: string[] = []
const stream = agent.stream('Which one is lost?')
for await (const event of stream) {
  if (event.type === 'tool.execute.error') outcomes.push('refused')
  if (event.type === 'tool.execute.end') outcomes.push(JSON.stringify(event.output))
}
const [preview = '', line = '', bytes = '', path, guessed, external = ''] = outcomes
assert.ok(preview.length < 1000 && !preview.includes('lost'))
assert.match(line, /3210.*lost/)
assert.match(bytes, /\{\\"id\\":0/)
assert.deepEqual([path, guessed], ['refused', 'refused'])
assert.match(external, /hello/)
const context = JSON.stringify((await stream.result).messages).length
console.log(context < 10_000 ? `${rows.length} rows behind a handle` : `${context} characters`) // → 4000 rows behind a handle
