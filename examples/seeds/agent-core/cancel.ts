// A signal ends a run while the model is asked or a tool runs. Tools receive a signal of their own.
import assert from 'node:assert/strict'
import { once } from 'node:events'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

let stopped = false
const wait = tool({
  name: 'wait',
  effect: 'none',
  input: z.object({}),
  async execute(_, { signal }) {
    await once(signal, 'abort')
    stopped = true
    return 'stopped'
  },
})
const call = { toolCalls: [{ name: 'wait' }] }
const agent = (steps: Parameters<typeof scriptedModel>[0]) =>
  createAgent({ name: 'patient', model: scriptedModel(steps), tools: [wait] })

const inTool = await agent([call, { text: 'Never said.' }]).run('Wait', { signal: AbortSignal.timeout(20) })
assert.equal(inTool.status, 'aborted')
assert.ok(stopped)
assert.deepEqual(
  inTool.messages.map(({ role }) => role),
  ['user', 'assistant', 'tool', 'aborted'],
)

// A model that never answers, and one that is not asked at all.
const inModel = await agent([{ stall: true }]).run('Wait', { signal: AbortSignal.timeout(20) })
const before = await agent([]).run('Wait', { signal: AbortSignal.abort() })
assert.deepEqual([inModel.status, before.status], ['aborted', 'aborted'])
console.log('aborted in a tool, in the model, and before it') // → aborted in a tool, in the model, and before it
