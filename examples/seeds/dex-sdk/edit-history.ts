// Edits of the history are validated one by one, or together in a transaction.
// Changed: the methods are on the list itself, so there is no second object to keep in step with it.
import assert from 'node:assert/strict'

import type { Session } from 'provost'
import { createAgent, textOf } from 'provost'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([({ messages }) => ({ text: `Answer ${messages.length}.` })], { after: 'repeat-last' })
const session = await createAgent({ name: 'host', model }).createSession({})
for (const question of ['One?', 'Two?', 'Three?']) await session.stream(question).result
const texts = ({ messages }: Session) => messages.map((message) => textOf(message)).join(' ')
const idOf = (index: number) => session.messages[index]?.id ?? ''

session.messages.append({ content: 'Four?' })
assert.equal(texts(session), 'One? Answer 1. Two? Answer 3. Three? Answer 5. Four?')
session.messages.replace(idOf(0), { content: 'First?' })
session.messages.splice(2, 2)
assert.equal(texts(session), 'First? Answer 1. Three? Answer 5. Four?')
session.messages.replaceRange(idOf(1), idOf(2), { role: 'assistant', content: 'Answers, in short.' })
assert.equal(texts(session), 'First? Answers, in short. Answer 5. Four?')

// In a transaction only the end has to be well formed.
session.messages.transaction((draft) => {
  draft.splice(0, 1) // now the assistant would speak first
  draft.splice(0, 0, { content: 'What happened before:' })
})
assert.equal(texts(session), 'What happened before: Answers, in short. Answer 5. Four?')

// One that throws, or ends badly, changes nothing.
const before = texts(session)
assert.throws(() => session.messages.transaction((draft) => draft.splice(0, 1)), { code: 'invalid-messages' })
assert.throws(() => {
  session.messages.transaction((draft) => {
    draft.append({ content: 'Five?' })
    throw new RangeError('changed my mind')
  })
}, RangeError)
assert.equal(texts(session), before)
console.log(`${session.messages.length} messages: ${before}`) // → 4 messages: What happened before: Answers, in short. Answer 5. Four?
