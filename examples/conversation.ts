// A conversation: runs of one session go on where the last one ended, and work can be put behind a run while it lasts.
import { createAgent } from 'provost'
import { scriptedModel } from 'provost/testing'

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([({ messages }) => ({ text: `That makes ${messages.length} messages.` })], { after: 'repeat-last' })
const agent = createAgent({ name: 'friend', model })

const { text, sessionId } = await agent.run('Hello!')
console.log(text) // → That makes 1 messages.

const stream = agent.stream('How are you?', { sessionId })
stream.followUp('And the family?')
for await (const event of stream) {
  if (event.type === 'turn.start') console.log(event.trigger)
  if (event.type === 'text.end') console.log(event.text)
}
// → input
// → That makes 3 messages.
// → queue
// → That makes 5 messages.

// Queued messages are answered one a turn, in their order.
const session = await agent.createSession({ sendMode: 'queue' })
session.on('turn.end', (turn) => console.log(turn.text))
for (const said of ['One.', 'Two.', 'Three.']) session.send(said)
await session.waitForIdle()
// → That makes 1 messages.
// → That makes 3 messages.
// → That makes 5 messages.

console.log((await stream.result).messages.map(({ role }) => role).join(' ')) // → user assistant user assistant
