// An application that already stores messages: with three methods of its own, conversations continue from them.
// Changed: `fromMessageStore` makes a store of it, because a session is a log with more than messages.
import assert from 'node:assert/strict'

import { createAgent } from 'provost'
import type { ModelMessage } from 'provost'
import { fromMessageStore } from 'provost/sessions'
import { scriptedModel } from 'provost/testing'

const table = new Map<string, ModelMessage[]>()
const conversations = {
  load: async (id: string) => table.get(id) ?? [],
  append: async (id: string, message: ModelMessage) => void table.set(id, [...(table.get(id) ?? []), message]),
  exists: async (id: string) => table.has(id),
}
const model = scriptedModel([({ messages }) => ({ text: `I see ${messages.length}.` })], { after: 'repeat-last' })
const start = () => createAgent({ name: 'friend', model, store: fromMessageStore(conversations) })

const session = await start().createSession({ id: 'ann' })
let early: unknown
session.on('text.delta', () => void (early ??= table.get('ann')?.length))
session.send('Hello')
await session.waitForIdle()
assert.equal(early, 1) // the question is stored before the answer begins
assert.deepEqual(
  table.get('ann')?.map(({ role }) => role),
  ['user', 'assistant'],
)

// Everything else is gone, as after a restart; the messages are enough.
const again = await start().resumeSession('ann')
again.send('Still there?')
assert.equal((await again.waitForIdle())?.text, 'I see 3.')
assert.equal(table.get('ann')?.length, 4)
await assert.rejects(start().resumeSession('bob'), { code: 'unknown-session' })

// Without the wrapper the error names it.
// @ts-expect-error -- three methods are no log
assert.throws(() => createAgent({ name: 'friend', model, store: conversations }), { hint: /fromMessageStore/ })

// By default a store in memory, gone with its agent.
const forgetful = createAgent({ name: 'friend', model })
await forgetful.createSession({ id: 'ann' })
await assert.rejects(createAgent({ name: 'friend', model }).resumeSession('ann'), { code: 'unknown-session' })
console.log(`${table.get('ann')?.length} messages in the table`) // → 4 messages in the table
