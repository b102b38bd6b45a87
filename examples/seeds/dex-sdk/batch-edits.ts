// Edits that await something are collected in a draft: nothing counts before the commit, which validates once.
// Changed: a draft is an object of its own, so that a forgotten commit changes nothing for other code.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, defineExtension, textOf } from 'provost'
import { scriptedModel } from 'provost/testing'

let refused = 0
const meddler = defineExtension({
  name: 'meddler',
  hooks: {
    // What hooks receive is frozen, with all it contains.
    'model.request'(request, { view }) {
      for (const list of [view.messages, request.tail])
        assert.throws(() => Reflect.apply(Array.prototype.push, list, [{ content: 'mine' }]), TypeError)
      refused++
    },
  },
})
const model = scriptedModel([({ messages }) => ({ text: `Answer ${messages.length}.` })], { after: 'repeat-last' })
const session = await createAgent({ name: 'host', model, extensions: [meddler] }).createSession({})
for (const question of ['One?', 'Two?', 'Three?']) await session.stream(question).result
const texts = () => session.messages.map((message) => textOf(message)).join(' ')
const before = texts()

const draft = session.messages.batch()
draft.splice(0, 4)
draft.splice(0, 0, { role: 'assistant', content: 'In short: two answers.' })
await sleep(1) // a summary from somewhere
assert.equal(texts(), before)
// The assistant must not speak first; an invalid draft stays open, and can be repaired.
assert.throws(() => draft.commit(), { code: 'invalid-messages', message: /messages\[0\]/ })
draft.splice(0, 0, { content: 'What happened before?' })
draft.commit()
assert.equal(texts(), 'What happened before? In short: two answers. Three? Answer 5.')
assert.throws(() => draft.commit(), { code: 'draft-over' })

// A draft of messages that have changed since is not applied over them.
const late = session.messages.batch()
late.splice(0, 2)
session.messages.append({ content: 'Four?' })
assert.throws(() => late.commit(), { code: 'messages-changed' })

// A transaction that awaits would lose what comes after, so it is refused.
// @ts-expect-error -- it does not compile, either
assert.throws(() => session.messages.transaction(async (edits) => edits.splice(0, 2)), { code: 'async-transaction' })
console.log(`${session.messages.length} messages, ${refused} views left alone`) // → 5 messages, 3 views left alone
