// A long conversation in a small window: what is old becomes a summary, what matters is said again, the log keeps all.
import { createAgent } from 'provost'
import { compaction } from 'provost/memory'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel(
  [
    ({ messages }) => {
      const [first] = messages
      // The summary is written by the agent's own model, in a call of its own.
      const asked = first?.role === 'system' && first.content.startsWith('You sum up')
      return { text: asked ? 'The user plans a journey to Oslo.' : 'Noted.' }
    },
  ],
  { after: 'repeat-last' },
)

const agent = createAgent({
  name: 'guide',
  instructions: 'You plan journeys.',
  model,
  extensions: [
    compaction({
      window: 1200, // by default what is known of the model
      keepRecent: 300,
      pinned: ['Amounts are in euros.'],
      after: { weather: () => [{ content: 'It snows in Oslo.' }] },
    }),
  ],
})

const session = await agent.createSession({})
session.on('context.compacted', ({ source, beforeTokens, afterTokens, hooksFired }) =>
  console.log(source, afterTokens < beforeTokens, hooksFired),
)
for (let day = 1; day <= 8; day++) {
  session.send(`Day ${day}: booking BK-${day}77, and ${'a walk in the forest, '.repeat(25)}a museum.`)
  await session.waitForIdle()
}
// → step true [ 'pinned', 'instructions', 'weather' ]

const seen = JSON.stringify(session.messages)
console.log('identifiers are kept:', seen.includes('BK-177')) // → identifiers are kept: true
console.log('the last request too:', seen.includes('Day 8: booking BK-877, and a walk')) // → the last request too: true

await session.compact() // → manual true [ 'pinned', 'instructions', 'weather' ]
await session.close()
