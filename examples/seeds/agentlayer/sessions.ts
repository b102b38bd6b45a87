// Sessions: a new one, one with an id of your own, one that is opened again, and one that does not exist.
import assert from 'node:assert/strict'

import { createAgent, memoryStore } from 'provost'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([({ messages }) => ({ text: `I see ${messages.length}.` })], { after: 'repeat-last' })
const store = memoryStore()
const agent = createAgent({ name: 'friend', model, store })

const unnamed = await agent.createSession()
assert.ok(unnamed.id)
const session = await agent.createSession({ id: 'ann', sendMode: 'queue' })
session.send('Hello')
assert.equal((await session.waitForIdle())?.text, 'I see 1.')

// Another agent object over the same store, as after a restart.
const restarted = createAgent({ name: 'friend', model, store })
const again = await restarted.resumeSession('ann', { sendMode: 'steer' })
assert.deepEqual(
  again.messages.map(({ role }) => role),
  ['user', 'assistant'],
)
again.send('Still there?')
assert.equal((await again.waitForIdle())?.text, 'I see 3.')

await assert.rejects(restarted.resumeSession('bob'), { code: 'unknown-session' })
await assert.rejects(restarted.createSession({ id: 'ann' }), { code: 'session-exists' })
console.log(`${again.id} has ${again.messages.length} messages`) // → ann has 4 messages
