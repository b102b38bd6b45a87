// The history cannot be corrupted: each direct mutation throws, also where a cast gets around the types.
import assert from 'node:assert/strict'

import { createAgent } from 'provost'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([{ text: 'Hello, Ann.' }])
const session = await createAgent({ name: 'host', model }).createSession({})
await session.stream('Hello!').result
const before = JSON.stringify(session.messages)

const { messages } = session
const extra = { role: 'user', content: [{ type: 'text', text: 'Me too!' }] }
// By name, since none of it compiles otherwise.
const methods = ['push', 'unshift', 'pop', 'shift', 'fill', 'copyWithin', 'reverse', 'sort'] as const
for (const name of methods) {
  const method: unknown = Reflect.get(messages, name)
  assert.ok(typeof method === 'function')
  assert.throws(() => Reflect.apply(method, messages, [extra]), { code: 'guarded-messages' })
}
const writes: (() => unknown)[] = [
  () => Reflect.set(messages, 0, extra),
  () => Reflect.set(messages, 'length', 0),
  () => Reflect.deleteProperty(messages, 0),
  () => Reflect.defineProperty(messages, 0, { value: extra }),
]
for (const write of writes) assert.throws(write, { code: 'guarded-messages', hint: /append/ })

// The messages in it are frozen, with all they contain.
const [first] = messages
assert.ok(Object.isFrozen(first) && Object.isFrozen(first?.content) && Object.isFrozen(first?.content[0]))
assert.equal(JSON.stringify(session.messages), before)
console.log(`${methods.length + writes.length} mutations refused`) // → 12 mutations refused
