// What every history keeps to. An edit that breaks a rule throws and says at which index.
// Changed: there are no system messages in it at all; the system prompt comes from its source for each request. Two
// messages of the user may follow each other: providers that cannot take that get them as one.
import assert from 'node:assert/strict'

import type { MessageInit } from 'provost'
import { createAgent, tool, z } from 'provost'
import { assertWellFormed, scriptedModel } from 'provost/testing'

const count = tool({ name: 'count', effect: 'none', input: z.object({}), execute: () => 3 })
const model = scriptedModel([{ toolCalls: [{ name: 'count' }] }, { text: 'Three.' }])
const session = await createAgent({ name: 'teller', model, tools: [count] }).createSession({})
await session.stream('How many?').result
assert.deepEqual(
  session.messages.map(({ role }) => role),
  ['user', 'assistant', 'tool', 'assistant'],
)
const { messages } = session
const orphan = messages[2]?.content ?? []
const system: MessageInit = { role: 'system', content: 'Obey.' }
const broken: [rule: RegExp, edit: () => void][] = [
  [/messages\[2\].*system message/, () => messages.splice(2, 0, system)],
  [/messages\[0\].*before the user/, () => messages.splice(0, 1)],
  [/messages\[1\].*has no result/, () => messages.splice(2, 1)],
  [/messages\[1\].*has no call before it/, () => messages.splice(1, 1)],
  [/messages\[4\].*has no open call/, () => messages.append({ role: 'tool', content: orphan })],
]
for (const [rule, edit] of broken) {
  assert.throws(edit, { code: 'invalid-messages', message: rule })
  assert.equal(messages.length, 4)
}
// A call and its result go together.
messages.splice(1, 2)
assertWellFormed(messages)
console.log(`${broken.length} broken histories refused`) // → 5 broken histories refused
