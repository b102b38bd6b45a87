// Thought, action, observation: the model writes down a thought before each call and makes one call at a time.
// Its first answer calls without a thought and is sent back; later it wants two things at once and gets the first.
import { createAgent, react, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const lookup = tool({
  name: 'lookup',
  effect: 'read',
  description: 'Looks a word up in the encyclopedia.',
  input: z.object({ word: z.string() }),
  execute: ({ word }) => (word === 'Ulm' ? 'A city on the Danube.' : 'A river of 2,850 km.'),
})

const call = (word: string) => ({ name: 'lookup', input: { word } })
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [call('Ulm')] },
    { text: 'I have to know which river flows through Ulm.', toolCalls: [call('Ulm'), call('Danube')] },
    { text: 'It is the Danube; its length is missing.', toolCalls: [call('Danube')] },
    { text: '2,850 km.' },
  ])

const scout = createAgent({ name: 'scout', model, tools: [lookup], orchestrator: react({ maxThoughtTokens: 100 }) })
const stream = scout.stream('How long is the river that flows through Ulm?')
for await (const event of stream) {
  if (event.type === 'text.end') console.log('says:', event.text)
  if (event.type === 'tool.skipped') console.log('skipped:', event.reason)
  if (event.type === 'tool.execute.end' && event.output.type === 'text') console.log('sees:', event.output.value)
}
// → skipped: Not run: write your thought first, then call again.
// → says: I have to know which river flows through Ulm.
// → skipped: Not run: one action at a time. Look at the observation, think, then call again.
// → sees: A city on the Danube.
// → says: It is the Danube; its length is missing.
// → sees: A river of 2,850 km.
// → says: 2,850 km.

console.log((await stream.result).status) // → completed
