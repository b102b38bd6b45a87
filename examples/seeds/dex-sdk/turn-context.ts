// Context for this turn only: it is in the request of the first step, and never in the history.
// Changed: a hook on the request adds it and may look at the step; from the `input` hook it would last for the whole run.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const clock = defineExtension({
  name: 'clock',
  hooks: {
    input: () => ({ tail: [{ content: 'It rains.' }] }),
    'model.request': (_, { run }) => (run.step === 1 ? { tail: [{ content: 'It is noon.' }] } : undefined),
  },
})
const wait = tool({ name: 'wait', effect: 'none', input: z.object({}), execute: () => 'waited' })
const requests: string[] = []
const model = scriptedModel(
  [
    ({ messages }) => {
      requests.push(JSON.stringify(messages))
      return requests.length === 1 ? { toolCalls: [{ name: 'wait' }] } : { text: 'Stay in.' }
    },
  ],
  { after: 'repeat-last' },
)
const session = await createAgent({ name: 'guide', model, tools: [wait], extensions: [clock] }).createSession({})
await session.stream('Should I go out?').result

assert.deepEqual(
  requests.map((request) => [request.includes('It is noon.'), request.includes('It rains.')]),
  [
    [true, true],
    [false, true],
  ],
)
// It stands behind the history, so the cached beginning of the request stays as it is.
assert.ok((requests[0] ?? '').indexOf('It is noon.') > (requests[0] ?? '').indexOf('Should I go out?'))
assert.doesNotMatch(JSON.stringify(session.messages), /noon|rains/)
console.log(`in the first of ${requests.length} requests, in none of ${session.messages.length} messages`) // → in the first of 2 requests, in none of 4 messages
