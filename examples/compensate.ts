// Compensation: a tool states how its effect is undone. The session undoes its effects, the last one first, after a human
// has approved the list.
import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const seats = new Set<string>()
const reserve = tool({
  name: 'reserve',
  input: z.object({ seat: z.string() }),
  execute({ seat }) {
    seats.add(seat)
    return { booking: `B-${seat}` }
  },
  // Receives the result of the call, its input, and an idempotency key of its own.
  compensate({ booking }, { input }) {
    console.log('cancel', booking)
    seats.delete(input.seat)
  },
})
const mail = tool({
  name: 'mail',
  input: z.object({ to: z.string() }),
  effect: 'egress',
  execute: ({ to }) => `sent to ${to}`,
})

const model = scriptedModel([
  { toolCalls: [{ name: 'reserve', input: { seat: '12A' } }] },
  { toolCalls: [{ name: 'reserve', input: { seat: '12B' } }] },
  { toolCalls: [{ name: 'mail', input: { to: 'ann@example.com' } }] },
  { text: 'Two seats are reserved, and Ann knows.' },
])
const desk = createAgent({ name: 'desk', model, tools: [reserve, mail] })
const session = await desk.createSession()
await session.stream('Two seats for Ann.').result
console.log([...seats].join(' ')) // → 12A 12B

// The approval is durable: another process may continue here, days later.
const first = await session.compensate()
console.log(first.status, first.pending?.approvals[0]?.reason) // → suspended Undo 2 effects, the last one first?
const approvals = first.pending?.approvals.map(({ id }) => ({ id, decision: 'approve' as const })) ?? []
const result = await session.compensate({ decisions: { approvals } })
// → cancel B-12B
// → cancel B-12A
console.log(result.status, result.undone.length, seats.size) // → completed 2 0
for (const { toolName, reason } of result.impossible) console.log(`${toolName}: ${reason}`) // → mail: The tool mail has no "compensate".
await session.close()
