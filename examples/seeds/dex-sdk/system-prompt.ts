// Extensions are set up in their order. Instructions, skills and what extensions say at the start of a session become the
// system prompt, which stays the same for the session.
import assert from 'node:assert/strict'

import { createAgent, defineExtension } from 'provost'
import { scriptedModel } from 'provost/testing'

const order: string[] = []
const speaks = (name: string, line: string) =>
  defineExtension({
    name,
    init: () => void order.push(`${name} init`),
    hooks: {
      'session.start'() {
        order.push(`${name} start`)
        return line
      },
    },
  })
const knits = defineExtension({
  name: 'knits',
  skills: [{ name: 'socks', when: 'Socks are wanted.', content: () => 'Cast on 60 stitches.' }],
})
const systems: string[] = []
const model = scriptedModel(
  [
    ({ messages }) => {
      systems.push(messages.flatMap(({ role, content }) => (role === 'system' ? [content] : [])).join('\n'))
      // The text of a skill is not in the prompt: the model loads it when it needs it.
      return systems.length === 1
        ? { toolCalls: [{ name: 'load_skill', input: { name: 'socks' } }] }
        : { text: 'Sixty.' }
    },
  ],
  { after: 'repeat-last' },
)
const agent = createAgent({
  name: 'knitter',
  instructions: 'You knit.',
  model,
  extensions: [speaks('wool', 'The wool is blue.'), knits, speaks('needles', 'The needles are thin.')],
})
const session = await agent.createSession({})
const { messages } = await session.stream('How many stitches for socks?').result
await session.stream('And again?').result

assert.deepEqual(order, ['wool init', 'needles init', 'wool start', 'needles start'])
const [system = ''] = systems
const at = ['You knit.', '- socks: Socks are wanted.', 'The wool is blue.', 'The needles are thin.'].map((line) =>
  system.indexOf(line),
)
assert.deepEqual(
  at,
  at.toSorted((a, b) => a - b),
)
assert.ok(!at.includes(-1) && !system.includes('60'))
assert.equal(new Set(systems).size, 1)
assert.match(JSON.stringify(messages), /Cast on 60 stitches/)
console.log(`${order.length} set-ups in order, one system prompt in ${systems.length} calls`) // → 4 set-ups in order, one system prompt in 3 calls
