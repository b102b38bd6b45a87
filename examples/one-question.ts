// Two calls of one step need approval: a human reads both, and answers once.
import { createAgent, memoryStore, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const mail = tool({
  name: 'mail',
  effect: 'egress',
  needsApproval: true,
  input: z.object({ to: z.string() }),
  args: { to: 'destination' },
  execute: ({ to }) => `sent to ${to}`,
})
const model = scriptedModel([
  { toolCalls: ['ann', 'bob'].map((to) => ({ name: 'mail', input: { to } })) },
  { text: 'Ann is told.' },
])
const agent = createAgent({ name: 'desk', model, tools: [mail], store: memoryStore() })

const { state, pending } = await agent.run('Write to everyone who asked.')
const [ann, bob] = pending.approvals
for (const { reason, input } of pending.approvals) console.log(reason, input)
// → mail needs approval { to: 'ann' }
// → mail needs approval { to: 'bob' }
const batches = [{ id: ann?.batch ?? '', decision: 'approve' as const, except: [bob?.id ?? ''], by: 'olga' }]
console.log((await agent.run(state, { batches })).text) // → Ann is told.
