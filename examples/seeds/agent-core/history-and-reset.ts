// The messages of a conversation, and a new start.
// Changed: the history belongs to a session, because one agent serves many. `reset` empties what the model sees; the log
// keeps what was said.
import assert from 'node:assert/strict'

import { createAgent, memoryStore, textOf } from 'provost'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([({ messages }) => ({ text: `I see ${messages.length}.` })], { after: 'repeat-last' })
const store = memoryStore()
const session = await createAgent({ name: 'friend', model, store }).createSession()
for (const words of ['Hello', 'How are you?']) {
  session.send(words)
  await session.waitForIdle()
}
assert.deepEqual(
  session.messages.map((message) => textOf(message)),
  ['Hello', 'I see 1.', 'How are you?', 'I see 3.'],
)

await session.reset()
assert.equal(session.messages.length, 0)
session.send('Hello again')
assert.equal((await session.waitForIdle())?.text, 'I see 1.')

let logged = 0
for await (const entry of store.read(session.id)) if (entry.type === 'message') logged++
assert.equal(logged, 6)
console.log(`${session.messages.length} messages to see, ${logged} in the log`) // → 2 messages to see, 6 in the log
