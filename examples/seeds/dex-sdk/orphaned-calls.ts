// Calls that were cut off get a result, so that the provider accepts the next request.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { assertWellFormed, scriptedModel } from 'provost/testing'

const stuck = tool({ name: 'stuck', effect: 'read', input: z.object({}), execute: () => new Promise(() => {}) })
const model = scriptedModel([
  { toolCalls: [{ name: 'stuck' }, { name: 'stuck' }] },
  ({ messages }) => ({ text: messages.some(({ role }) => role === 'tool') ? 'They were cut off.' : 'They hang.' }),
])
const agent = createAgent({ name: 'helper', model, tools: [stuck] })
const session = await agent.createSession({})

const stream = session.stream('Do both.')
for await (const event of stream) if (event.type === 'tool.execute.start') void stream.abort()
assert.equal((await stream.result).status, 'aborted')
assertWellFormed(session.messages)
const results = session.messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool-result'))
assert.equal(results.length, 2)
const { text } = await session.stream('What happened?').result

// A history from elsewhere is repaired when it comes in, and says how.
const toolCallId = 'a'
const imported = await agent.createSession({
  messages: [
    { role: 'user', content: 'Do it.' },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName: 'stuck', input: {} }] },
  ],
})
assertWellFormed(imported.messages)
assert.equal(imported.repairs.length, 1)
console.log(`${results.length} results, ${imported.repairs.length} repair: ${text}`) // → 2 results, 1 repair: They were cut off.
