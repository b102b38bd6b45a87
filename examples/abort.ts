// Abort: the run ends well formed whatever model and tools are doing, and what was said before is kept.
import { createAgent, textOf } from 'provost'
import { assertWellFormed, scriptedModel } from 'provost/testing'

// The offline one hangs after two words and does not heed its signal.
const model = process.env.PROVOST_MODEL ?? scriptedModel([{ text: ['Once upon ', 'a time '], stall: true }])
const agent = createAgent({ name: 'teller', model })

const stream = agent.stream('Tell me a story.')
let words = 0
for await (const event of stream) {
  if (event.type === 'text.delta' && ++words === 2) void stream.abort()
  if (event.type === 'agent.end') console.log(event.type, event.status) // → agent.end aborted
}

const { messages } = await stream.result
for (const message of messages) console.log(`${message.role}${message.partial ? ', partial' : ''}: ${textOf(message)}|`)
// → user: Tell me a story.|
// → aborted, partial: Once upon a time |

assertWellFormed(messages)
