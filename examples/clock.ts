// Time: a session lives by the clock of its store. Here an approval that expires in 30 days expires at once.
import { createAgent, memoryStore, tool, z } from 'provost'
import { manualClock, scriptedModel } from 'provost/testing'

const order = tool({
  name: 'order',
  input: z.object({ item: z.string() }),
  needsApproval: () => ({ reason: 'money', expiresInMs: 30 * 86_400_000 }),
  execute: ({ item }) => `ordered ${item}`,
})
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([{ toolCalls: [{ name: 'order', input: { item: 'a desk' } }] }, { text: 'It was not approved.' }])

const clock = manualClock({ at: Date.UTC(2031, 0, 1) })
const store = memoryStore({ clock })
const agent = createAgent({ name: 'office', model, store, tools: [order] })

const session = await agent.createSession()
session.send('We need a desk.')
const waiting = await session.waitForIdle()
console.log(waiting?.status, session.pending.approvals.length) // → suspended 1

await clock.advance(31 * 86_400_000)
const ended = await session.waitForIdle()
console.log(ended?.text) // → It was not approved.
console.log(new Date(clock.now()).toISOString()) // → 2031-02-01T00:00:00.000Z
await session.close()
