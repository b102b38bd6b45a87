// Steering a child: what is said to one of the agents that work below a session's run enters there, and nowhere else.
import { createAgent, textOf, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const search = tool({
  name: 'search',
  effect: 'read',
  input: z.object({ query: z.string() }),
  execute: ({ query }) => `3 pages on ${query}`,
})
const researcher = createAgent({
  name: 'researcher',
  tools: [search],
  model:
    process.env.PROVOST_MODEL ??
    scriptedModel([
      { toolCalls: [{ name: 'search', input: { query: 'refunds' } }] },
      { toolCalls: [{ name: 'search', input: { query: 'refunds since 2025' } }] },
      { text: 'Thirty days, and no questions.' },
    ]),
})
const desk = createAgent({
  name: 'desk',
  tools: [researcher.toTool({ name: 'research', description: 'Find something out.' })],
  model:
    process.env.PROVOST_MODEL ??
    scriptedModel([
      { toolCalls: [{ name: 'research', input: { task: 'Our rules on refunds.' } }] },
      { text: 'You have thirty days.' },
    ]),
})

const session = await desk.createSession({ id: 'ann-17' })
let said = false
session
  .on('tool.execute.start', ({ toolName, input, runId }) => {
    if (toolName !== 'search') return
    console.log('searches:', JSON.stringify(input))
    if (!said) session.send('Only what holds since 2025.', { to: runId })
    said = true
  })
  .on('agent.steered', ({ agent, text }) => console.log(agent, 'was told:', text))
session.send('How long do I have to send it back?')
const result = await session.waitForIdle()
// → searches: {"query":"refunds"}
// → researcher was told: Only what holds since 2025.
// → searches: {"query":"refunds since 2025"}

console.log(result?.text) // → You have thirty days.
console.log(session.messages.filter(({ role }) => role === 'user').map((message) => textOf(message)))
// → [ 'How long do I have to send it back?' ]
