// Who approves over HTTP: not the principal that asked, but an operator, who sees what waits in all sessions.
import { createAgent, memoryStore, tool, z } from 'provost'
import { createClient } from 'provost/client'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const pay = tool({
  name: 'pay',
  version: '1', // raise it when `execute` does something else: open questions are then asked again
  effect: 'egress',
  args: { to: 'destination', amount: 'amount' },
  needsApproval: true,
  input: z.object({ to: z.string(), amount: z.number() }),
  execute: ({ to, amount }) => `paid ${amount} to ${to}`,
})
const model = scriptedModel([
  { toolCalls: [{ name: 'pay', input: { to: 'billing@sh\u043ep.example', amount: 80 } }] }, // a Cyrillic letter
  { text: 'Not paid.' },
])

const store = memoryStore()
const server = createServer({
  agents: [createAgent({ name: 'desk', model, tools: [pay], store })],
  store,
  authenticate: (request) => {
    const id = request.headers.get('authorization')?.replace('Bearer ', '')
    return id === 'ann' || id === 'olga' ? { id } : undefined
  },
  operator: ({ id }) => id === 'olga',
  approvals: { by: 'operator' },
})
const listening = await serve(server, { port: 0 })
const clientOf = (id: string) => createClient({ baseUrl: listening.url, headers: { authorization: `Bearer ${id}` } })

const ann = clientOf('ann').session()
const { pending } = await ann.execute('Pay 80 to billing@shop.example').result
const [question] = pending.approvals
const refused = await ann
  .resolve({ approvals: [{ id: question?.id ?? '', decision: 'approve' }] })
  .catch((error: unknown) => error)
console.log(refused instanceof Error && refused.message) // → You may not decide on this call of pay.

const olga = clientOf('olga')
const { waits } = await olga.waits()
for (const { kind, sessionId, requester, text, wait } of waits) {
  console.log(`for ${requester}: ${text.split('. ')[0]}`) // → for ann: pay (egress): pay needs approval
  if (kind !== 'approval') continue
  console.log(wait.warnings?.map((warning) => warning.kind)) // → [ 'mixed-scripts', 'lookalike' ]
  await olga.decide(sessionId, { approvals: [{ id: wait.id, decision: 'deny', reason: 'not the shop' }] })
}
console.log((await ann.follow().result).text) // → Not paid.
await listening.close()
