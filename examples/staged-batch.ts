// The payments of a step are one table for a human: rows are struck or edited, and one approval runs the rest.
import { createAgent, memoryStore, tool, z } from 'provost'
import type { EventOf } from 'provost'
import { scriptedModel } from 'provost/testing'

const pay = tool({
  name: 'pay',
  stage: true,
  input: z.object({ to: z.string(), amount: z.number() }),
  args: { to: 'destination', amount: 'amount' },
  execute: ({ to, amount }) => `paid ${amount} to ${to}`,
})
const bills = [
  { to: 'Water works', amount: 80 },
  { to: 'Power company', amount: 1200 },
  { to: 'Landlord', amount: 900 },
]
const model = scriptedModel([
  { toolCalls: bills.map((input) => ({ name: 'pay', input })) },
  { text: 'Two of three bills are paid.' },
])
const agent = createAgent({ name: 'clerk', model, tools: [pay], store: memoryStore() })

const { state, pending } = await agent.run('Pay the bills of this month.')
for (const { toolName, input } of pending.approvals) console.log(toolName, JSON.stringify(input))
// → pay {"to":"Water works","amount":80}
// → pay {"to":"Power company","amount":1200}
// → pay {"to":"Landlord","amount":900}

const [water, power] = pending.approvals
if (water?.batch === undefined || !power) throw new Error('There is no batch.')
const stream = agent.stream(state, {
  batches: [
    {
      id: water.batch, // all rows have it
      decision: 'approve',
      except: [power.id],
      edits: { [water.id]: { to: 'Water works', amount: 85 } },
      by: 'olga',
    },
  ],
})
let report: EventOf<'tool.batch.settled'>['rows'] = []
for await (const event of stream) {
  if (event.type === 'tool.execute.end') console.log(event.output)
  if (event.type === 'tool.batch.settled') report = event.rows
}
// → { type: 'text', value: 'paid 85 to Water works' }
// → { type: 'text', value: 'paid 900 to Landlord' }
console.log(report.map(({ outcome }) => outcome)) // → [ 'ok', 'denied', 'ok' ]
console.log((await stream.result).text) // → Two of three bills are paid.
