// The hook at the end of a run is called however it ends, so that what it saves is saved.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const saved: string[] = []
const saver = defineExtension({ name: 'saver', hooks: { 'run.end': ({ status }) => void saved.push(status) } })
const bad = defineExtension({
  name: 'bad',
  hooks: {
    'model.request'() {
      throw new RangeError('no request today')
    },
  },
})
const pay = tool({ name: 'pay', needsApproval: true, input: z.object({}), execute: () => 'paid' })
const model = scriptedModel([
  { text: 'Fine.' },
  { error: Object.assign(new Error('Wrong key'), { status: 401 }) },
  { text: ['Once ', 'upon'], stall: true },
  { toolCalls: [{ name: 'pay' }] },
])
const agent = createAgent({ name: 'helper', model, tools: [pay], extensions: [saver] })

await agent.run('Are you well?')
const failed = await agent.run('And now?')
assert.equal(failed.status === 'failed' && failed.error.code, 'auth')
const stream = agent.stream('Tell me a story.')
for await (const event of stream) if (event.type === 'text.delta') void stream.abort()
await stream.result
await agent.run('Pay.')
const broken = await createAgent({ name: 'broken', model, extensions: [saver, bad] }).run('Anything?')
assert.equal(broken.status === 'failed' && broken.error.code, 'hook-failed')

assert.deepEqual(saved, ['completed', 'failed', 'aborted', 'suspended', 'failed'])
console.log(saved.join(', ')) // → completed, failed, aborted, suspended, failed
