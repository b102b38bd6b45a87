// Cache breakpoints for Anthropic: behind the system prompt, and at the end of what the next request repeats.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'fog' })
const hint = defineExtension({ name: 'hint', hooks: { input: () => ({ tail: [{ content: 'Be brief.' }] }) } })

const marked: number[][] = []
const lengths: number[] = []
const model = scriptedModel(
  [
    ({ messages }) => {
      lengths.push(messages.length)
      marked.push(
        messages.flatMap(({ providerOptions }, index) =>
          providerOptions?.['anthropic']?.['cacheControl'] ? [index] : [],
        ),
      )
      return lengths.length === 1 ? { toolCalls: [{ name: 'look' }] } : { text: 'Fog.' }
    },
  ],
  { provider: 'anthropic.messages', after: 'repeat-last' },
)
const agent = createAgent({
  name: 'lookout',
  instructions: 'You keep watch.',
  model,
  tools: [look],
  extensions: [hint],
})
await agent.run('What do you see?')

// Each request ends with the hint, which the next one has elsewhere: the second breakpoint is in front of it.
assert.deepEqual(lengths, [3, 5])
assert.deepEqual(marked, [
  [0, 1],
  [0, 3],
])
console.log(`breakpoints at ${JSON.stringify(marked)}`) // → breakpoints at [[0,1],[0,3]]
