// An agent whose model may read public and internal data, and the text as it is written.
// Changed: a model is a name or an AI SDK model; what it may read stands beside it, so no provider has to be made.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const diary = tool({
  name: 'diary',
  effect: 'read',
  input: z.object({}),
  returns: { confidentiality: 'secret' },
  execute: () => 'I am afraid of heights.',
})
let calls = 0
const local = scriptedModel(
  [
    ({ messages }) => {
      calls++
      return JSON.stringify(messages.at(-1)).includes('diary')
        ? { toolCalls: [{ name: 'diary' }] }
        : { text: ['Past the crane, ', 'then left.'] }
    },
  ],
  { after: 'repeat-last' },
)
const agent = createAgent({
  name: 'guide',
  instructions: 'You know the harbour.',
  model: { model: local, accepts: ['public', 'internal'] },
  tools: [diary],
})
let text = ''
for await (const event of agent.stream('Where is the ferry?')) if (event.type === 'text.delta') text += event.delta
assert.equal(text, 'Past the crane, then left.')
assert.equal(calls, 1)

// What it may not read is not sent: the second request never leaves.
const refused = await agent.run('What does my diary say?')
assert.equal(refused.status === 'failed' && refused.error.code, 'clearance-denied')
assert.equal(calls, 2)
console.log(text) // → Past the crane, then left.
