// A tool without `execute` runs outside: the run is suspended at no cost, and resumes with the results.
// Changed: one status for all waiting; results are passed with the state of the run, which any process can hold.
import assert from 'node:assert/strict'

import { createAgent, RunState, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const here = tool({ name: 'clock', effect: 'none', input: z.object({}), execute: () => 'noon' })
const there = tool({ name: 'open_file', input: z.object({ path: z.string() }) })
const model = scriptedModel([
  { toolCalls: [{ name: 'clock' }, { name: 'open_file', input: { path: 'a.txt' } }] },
  { toolCalls: [{ name: 'open_file', input: { path: 'b.txt' } }] },
  { text: 'Both read.' },
])
const editor = createAgent({ name: 'editor', model, tools: [here, there] })

// The other side: it knows only names and inputs.
const disk = new Map([
  ['a.txt', 'apples'],
  ['b.txt', 'bread'],
])
const types: string[] = []
let stream = editor.stream('Read a.txt and b.txt')
for (;;) {
  for await (const event of stream) types.push(event.type)
  const result = await stream.result
  if (result.status !== 'suspended') break
  const toolResults = result.pending.remoteCalls.map(({ callId, input }) => ({
    callId,
    output: disk.get(String(Object(input).path)) ?? null,
  }))
  stream = editor.stream(RunState.fromJSON(JSON.stringify(result.state), editor), { toolResults })
}
const { status, text, messages } = await stream.result
assert.equal(status, 'completed')
assert.equal(text, 'Both read.')
assert.match(JSON.stringify(messages), /apples.*bread/)
const count = (type: string) => types.filter((one) => one === type).length
assert.deepEqual([count('tool.remote.requested'), count('agent.suspended'), count('tool.execute.end')], [2, 2, 3])
console.log(`suspended twice, then: ${text}`) // → suspended twice, then: Both read.
