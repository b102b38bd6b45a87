// An open question of the design: how long a run waits for a tool elsewhere. The answer here: for the `timeoutMs` of the
// tool, else without limit. The deadline is in the log, and the model reads that no answer came.
import assert from 'node:assert/strict'
import { once } from 'node:events'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const ask = tool({ name: 'ask_courier', timeoutMs: 1_000, input: z.object({}) })
const model = scriptedModel([
  { toolCalls: [{ name: 'ask_courier' }] },
  ({ messages }) => ({ text: JSON.stringify(messages.at(-1)).includes('error-text') ? 'No answer.' : 'He comes.' }),
])
const session = await createAgent({ name: 'shop', model, tools: [ask] }).createSession()
const codes: (string | undefined)[] = []
const done = new EventTarget()
session
  .on('tool.execute.error', ({ error }) => codes.push(error.code))
  .on('agent.end', ({ status }) => status === 'completed' && done.dispatchEvent(new Event('completed')))
const completed = once(done, 'completed')
session.send('When does he come?')
await session.waitForIdle()
assert.equal(session.status, 'suspended')
assert.ok(session.pending.remoteCalls[0]?.expiresAt)

const awake = setInterval(() => {}, 1000) // a waiting session keeps no process alive
await completed
clearInterval(awake)
assert.deepEqual(codes, ['tool-timeout'])
await session.close()
console.log(codes.join()) // → tool-timeout
