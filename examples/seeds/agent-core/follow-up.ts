// Between calls the application is asked for news, and where the agent would stop, for more to do. Each message of the second
// kind is answered in a turn of its own.
// Changed: the two functions belong to the agent or to one run; those of the run count.
import assert from 'node:assert/strict'

import { createAgent, textOf, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'rain' })
const script = [
  { toolCalls: [{ name: 'look' }, { name: 'look' }] },
  { text: 'Rain.' },
  { text: 'A coat.' },
  { text: 'Sleep well.' },
]
let asked = 0
const lines = [['What shall I wear?', 'Good night!']]
const butler = createAgent({
  name: 'butler',
  model: scriptedModel([...script, { text: 'Hello.' }, { text: 'Bye.' }]),
  tools: [look],
  maxParallelTools: 1,
  getSteering: () => (++asked === 2 ? ['In one word!'] : []), // before the first answer, then after the first look
  getFollowUp: () => lines.shift() ?? [],
})
const { messages } = await butler.run('How is the weather?')
assert.deepEqual(messages.flatMap((message) => (message.role === 'tool' ? [] : [textOf(message)])).slice(2), [
  'In one word!',
  'Rain.',
  'What shall I wear?',
  'A coat.',
  'Good night!',
  'Sleep well.',
])
const results = messages[2]?.content.map((part) => part.type === 'tool-result' && part.output.type)
assert.deepEqual(results, ['text', 'error-text'])

const more = [['And?']]
const own = await butler.run('Hello', { getFollowUp: () => more.shift() ?? [] })
assert.equal(own.text, 'Bye.')
console.log(messages.length, 'messages') // → 9 messages
