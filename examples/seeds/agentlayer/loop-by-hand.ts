// The loop by hand: decide on the calls, then run those that were approved. Here one call of two is denied, and the code
// around the loop runs the other one.
// Changed: instead of a generator of two directions, a driver. It also calls the model and keeps the log.
import assert from 'node:assert/strict'

import { createAgent, runLoop, startLoop, tool, trustedLabel as label, z } from 'provost'
import type { Entry, Message, StepOutcome } from 'provost'

const knock = tool({ name: 'knock', input: z.object({ at: z.string() }), execute: () => 'not called here' })
const agent = createAgent({ name: 'guest', model: 'example/unused', tools: [knock] })
const log: Entry[] = []
const calls = ['door', 'window'].map((at) => ({
  ...{ type: 'tool-call' as const, callId: at, toolCallId: at, toolName: 'knock' },
  input: { at },
}))
const say = (id: string, content: Message['content']): StepOutcome => ({
  message: { id, role: 'assistant', content, label, createdAt: 1 },
  usage: {},
  finishReason: content === calls ? 'tool-calls' : 'stop',
})

const asked: string[] = []
const loop = await startLoop(
  agent,
  {
    callModel({ request }) {
      asked.push('model')
      return request.messages.length === 1 ? say('a', calls) : say('b', [{ type: 'text', text: 'She is out.' }])
    },
    authorize(planned) {
      asked.push('authorize')
      return planned.map(({ input }, at) => (at === 0 ? { proceed: input } : { deny: 'Not through the window.' }))
    },
    execute(approved) {
      asked.push('execute')
      return approved.map((call) => ({
        ...call,
        ...{ outcome: 'ok', via: 'executed', output: { type: 'text', value: 'silence' }, label },
      }))
    },
    awaitDecisions: () => 'suspend',
    append: (entries) => void log.push(...entries),
  },
  'Visit Ada.',
)

assert.equal(await runLoop(loop), 'completed')
assert.deepEqual(asked, ['model', 'authorize', 'execute', 'model'])
const settled = log.flatMap((entry) => (entry.type === 'call' && entry.op === 'settled' ? [entry.outcome] : []))
assert.deepEqual(settled.toSorted(), ['denied', 'ok'])
console.log(settled.toSorted().join(' and ')) // → denied and ok
