// A session reports its status, model, messages, cost and pending work.
// Changed: `suspended` covers every kind of waiting (tools elsewhere, approvals, questions); `pending` says which.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const usage = { inputTokens: 1_000_000, outputTokens: 100_000 }
const model = scriptedModel([
  { toolCalls: [{ name: 'camera' }], usage },
  { text: 'A cat.', usage },
  { error: new Error('the cable is cut') },
])
const camera = tool({ name: 'camera', input: z.object({}) }) // without `execute`: it runs elsewhere
const agent = createAgent({
  name: 'watch',
  model,
  tools: [camera],
  prices: { 'scripted/scripted-model': { input: 2, output: 10 } },
})
const session = await agent.createSession({
  id: 'camera-1',
  messages: [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hello!' },
  ],
})
assert.equal(session.id, 'camera-1')
const seen: string[] = [session.status]
session.on('step.start', () => seen.push(session.status))

session.send('What do you see?')
await session.waitForIdle()
seen.push(session.status)
const [call] = session.pending.remoteCalls
assert.equal(call?.toolName, 'camera')

await session.resolve({ toolResults: [{ callId: call.callId, output: 'a grey cat' }] })
await session.waitForIdle()
seen.push(session.status)
assert.equal(session.pending.remoteCalls.length, 0)
assert.equal(session.messages.length, 2 + 4)
assert.equal(session.model, 'scripted/scripted-model')
const { cost } = session
assert.equal(cost, 6) // two answers, each a million tokens in at 2 dollars and 100,000 out at 10

session.send('And now?')
await assert.rejects(session.waitForIdle())
seen.push(session.status)
assert.deepEqual(seen, ['idle', 'running', 'suspended', 'running', 'idle', 'running', 'failed'])
console.log(`${cost} dollars; ${new Set(seen).size} kinds of status`) // → 6 dollars; 4 kinds of status
