// A session knows who said what, can be written as lines of JSON, and is replayed from them without running anything.
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'

import { createAgent, memoryStore, tool, z } from 'provost'
import { replaySession } from 'provost/replay'
import { attributionOf, exportSession, importSession } from 'provost/sessions'
import { scriptedModel } from 'provost/testing'

let rings = 0
const ring = tool({ name: 'ring', effect: 'write', input: z.object({}), execute: () => ++rings })
const expert = createAgent({ name: 'expert', model: scriptedModel([{ text: 'At noon.' }]) })
const desk = createAgent({
  name: 'desk',
  tools: [ring],
  handoffs: [expert],
  model: scriptedModel([{ toolCalls: [{ name: 'ring' }] }, { toolCalls: [{ name: 'transfer_to_expert', input: {} }] }]),
  store: memoryStore(),
})
const store = memoryStore()
const session = await desk.createSession({ id: 'ann', store })
await session.stream('When does the bell ring?').result

const authors: string[] = []
for await (const { role, agent, via } of attributionOf(store.read('ann'))) authors.push(`${role} ${agent} ${via}`)
assert.deepEqual(authors.slice(0, 3), ['user desk input', 'assistant desk model', 'tool desk tool'])
assert.equal(authors.at(-1), 'assistant expert model')

const key = 'a key of at least sixteen bytes'
const lines = await text(exportSession(store, 'ann', { key }))
for (const line of lines.trimEnd().split('\n')) JSON.parse(line)
const other = memoryStore()
assert.equal((await importSession(other, lines, { key })).trusted, true)
assert.equal(await text(exportSession(other, 'ann', { key })), lines)
await assert.rejects(importSession(memoryStore(), lines.replace('When does', 'Why does'), { key }))

assert.equal(await replaySession(desk, other.read('ann')), undefined)
assert.equal(rings, 1)
console.log(`${authors.length} messages attributed, ${rings} ring`) // → 7 messages attributed, 1 ring
