// Session: a conversation over many runs that is steered while it works, judged by a listener, suspended for a human, and opened again.
import { createAgent, isCallTo, memoryStore, textOf, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const look = tool({
  name: 'look',
  effect: 'read',
  input: z.object({ order: z.string() }),
  execute: ({ order }) => `${order}: 80 euros`,
})
const refund = tool({
  name: 'refund',
  effect: 'write',
  input: z.object({ order: z.string(), euros: z.number() }),
  needsApproval: ({ euros }) => euros > 50,
  execute: ({ order, euros }) => `refunded ${euros} on ${order}`,
})
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { text: 'I look it up.', toolCalls: [{ name: 'look', input: { order: '17' } }] },
    { text: 'All of it, then.', toolCalls: [{ name: 'refund', input: { order: '17', euros: 80.4 } }] },
    { text: 'Order 17 is refunded.' },
    { text: 'You are welcome.' },
  ])
const store = memoryStore()
const desk = createAgent({ name: 'desk', instructions: 'Help with orders.', model, tools: [look, refund], store })

const session = await desk.createSession({ id: 'ann-17', principal: { id: 'ann' } })
session
  .on('tool.call', (call) =>
    isCallTo(call, refund) ? { args: { ...call.input, euros: Math.round(call.input.euros) } } : undefined,
  )
  .on('tool.execute.start', ({ toolName }) => toolName === 'look' && session.send('All of it, please.'))
  .on('agent.steered', ({ text }) => console.log('steered:', text))
  .on('text.end', ({ text }) => console.log('desk:', text))
session.send('Refund order 17.')
await session.waitForIdle()
// → desk: I look it up.
// → steered: All of it, please.
// → desk: All of it, then.

console.log(session.status, JSON.stringify(session.pending.approvals[0]?.input)) // → suspended {"order":"17","euros":80}
session.send('Thank you!') // kept in the store until the run goes on
await session.waitForIdle()

// Another process has the id and the store, and nothing else.
const again = await desk.resumeSession('ann-17')
again.on('text.end', ({ text }) => console.log('desk:', text))
const [approval] = again.pending.approvals
await again.resolve({ approvals: [{ id: approval?.id ?? '', decision: 'approve', by: 'boss' }] })
await again.waitForIdle()
// → desk: Order 17 is refunded.
// → desk: You are welcome.

const fork = await again.fork({ at: again.messages.at(-1)?.id ?? '' })
again.messages.splice(0, again.messages.length - 2)
console.log(again.messages.map((message) => textOf(message)).join(' ')) // → Thank you! You are welcome.
console.log(fork.messages.length, again.messages.length) // → 9 2
const draft = again.messages.batch()
draft.splice(0, 2)
draft.append({ content: 'Ann thanked for a refund.' })
draft.commit() // one validation; a run or another edit in between makes it throw
console.log(again.messages.length) // → 1
await again.close()
console.log(again.status) // → closed
