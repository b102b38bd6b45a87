// Messages of the application in the history: some become something that a model understands, the others are left out.
// Changed: such a role begins with `custom:` and has its own data as JSON. One function takes the place of a pipeline.
import assert from 'node:assert/strict'

import { createAgent, textOf } from 'provost'
import type { Message } from 'provost'
import { scriptedModel } from 'provost/testing'

let seen = ''
const model = scriptedModel([
  ({ messages }) => {
    seen = JSON.stringify(messages.map(({ role, content }) => [role, content]))
    return { text: 'On Monday.' }
  },
])
const agent = createAgent({
  name: 'desk',
  model,
  convertToModel(message) {
    if (message.role === 'custom:order') return { role: 'user', content: `My order: ${JSON.stringify(message.data)}` }
    return textOf(message).startsWith('(old)') ? [] : undefined
  },
})
const line = (role: Message['role'], text: string, createdAt: number): Message => ({
  id: `m${createdAt}`,
  role,
  content: [{ type: 'text', text }],
  createdAt,
})
const { messages } = await agent.run([
  { ...line('custom:order', 'an order', 1), data: { id: 17, lines: ['oak table'] } },
  line('custom:banner', 'You are offline', 2),
  line('user', '(old) Hello', 3),
  line('user', 'When does it arrive?', 4),
])

assert.match(seen, /^\[\["user",.*My order:.*oak table.*When does it arrive\?/)
assert.doesNotMatch(seen, /offline|old/)
assert.deepEqual(
  messages.map(({ role }) => role),
  ['custom:order', 'custom:banner', 'user', 'user', 'assistant'],
)
assert.deepEqual(messages[0]?.data, { id: 17, lines: ['oak table'] })
console.log('4 messages, 2 of them for the model') // → 4 messages, 2 of them for the model
