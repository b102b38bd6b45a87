// An open question of the design: one of two remote tools fails. Both outcomes are passed; the model sees a result and an
// error.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const camera = tool({ name: 'camera', input: z.object({ at: z.string() }) })
let seen = ''
const model = scriptedModel([
  { toolCalls: ['door', 'roof'].map((at) => ({ name: 'camera', input: { at } })) },
  ({ messages }) => {
    seen = JSON.stringify(messages.at(-1))
    return { text: 'A cat at the door; the roof is out of sight.' }
  },
])
const session = await createAgent({ name: 'watch', model, tools: [camera] }).createSession()
const ends: string[] = []
session
  .on('tool.execute.end', ({ toolName }) => ends.push(`${toolName} ends`))
  .on('tool.execute.error', ({ error }) => ends.push(`${error.code}: ${error.message}`))
session.send('What do you see?')
await session.waitForIdle()
const [door, roof] = session.pending.remoteCalls
await session.resolve({
  toolResults: [
    { callId: door?.callId ?? '', output: 'a cat' },
    { callId: roof?.callId ?? '', error: { message: 'The lens is frozen.', code: 'frozen' } },
  ],
})
assert.equal((await session.waitForIdle())?.status, 'completed')
assert.deepEqual(ends, ['camera ends', 'frozen: The lens is frozen.'])
assert.match(seen, /a cat/)
assert.match(seen, /error-text.*The lens is frozen/)
console.log(ends.join('; ')) // → camera ends; frozen: The lens is frozen.
