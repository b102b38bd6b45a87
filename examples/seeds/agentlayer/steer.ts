// A steering message skips the calls that have not started, and enters before the next model call.
// Changed: such a call is skipped, not denied, so that neither model nor audit takes it for a refusal.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const started: string[] = []
const water = tool({
  name: 'water',
  executionMode: 'sequential',
  input: z.object({ plant: z.string() }),
  execute({ plant }) {
    started.push(plant)
    if (started.length === 1) session.send('It rains! Go inside.', { mode: 'steer' })
    return `watered the ${plant}`
  },
})
const plants = ['rose', 'fern', 'moss']
const model = scriptedModel([
  { toolCalls: plants.map((plant) => ({ name: 'water', input: { plant } })) },
  ({ messages }) => ({ text: messages.at(-1)?.role === 'user' ? 'Inside.' : 'Still watering.' }),
])
const session = await createAgent({ name: 'gardener', model, tools: [water] }).createSession()
let skipped = 0
session.on('tool.skipped', () => skipped++)
session.send('Water the garden.')
const result = await session.waitForIdle()

assert.deepEqual(started, ['rose'])
assert.equal(skipped, 2)
assert.equal(result?.text, 'Inside.')
// Every call has a result, so that a provider accepts the history, and the message comes after them.
assert.deepEqual(
  session.messages.map(({ role }) => role),
  ['user', 'assistant', 'tool', 'user', 'assistant'],
)
assert.equal(session.messages[2]?.content.length, 3)
console.log(`${started.length} ran, ${skipped} skipped: ${result?.text}`) // → 1 ran, 2 skipped: Inside.
