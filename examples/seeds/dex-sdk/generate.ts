// One call returns a stream and a result, and the same run is behind both.
// Changed: tools are listed on the agent itself, and text is enough as an input.
import assert from 'node:assert/strict'

import type { Message } from 'provost'
import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

let readings = 0
const tide = tool({
  name: 'tide',
  description: 'The height of the tide.',
  effect: 'read',
  input: z.object({ harbour: z.string() }),
  execute({ harbour }) {
    readings++
    return { harbour, metres: 2.4 }
  },
})
const asks = { toolCalls: [{ name: 'tide', input: { harbour: 'Wick' } }] }
const says = { text: ['Two metres ', 'forty.'] }
const pilot = createAgent({ name: 'pilot', model: scriptedModel([asks, says, asks, says]), tools: [tide] })

// Without reading the stream:
const { status, text } = await pilot.stream('How high is the tide in Wick?').result
assert.equal(status, 'completed')
assert.equal(text, 'Two metres forty.')

// Reading it, and saving each message as it is committed:
const stream = pilot.stream('How high is the tide in Wick?')
let shown = ''
const saved: Message[] = []
for await (const event of stream) {
  if (event.type === 'text.delta') shown += event.delta
  if (event.type === 'message.end') saved.push(event.message)
}
const { messages } = await stream.result
assert.equal(shown, text)
assert.deepEqual(saved, messages)
assert.equal(readings, 2)
console.log(`${saved.length} messages saved, ${readings} readings in two runs`) // → 4 messages saved, 2 readings in two runs
