// The same agent, in a script and behind a server: a run outlives its caller's connection, and an operator approves.
import assert from 'node:assert/strict'

import { createAgent, memoryStore, tool, z } from 'provost'
import { createClient } from 'provost/client'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const order = tool({
  name: 'order',
  needsApproval: true,
  input: z.object({ what: z.string() }),
  execute: ({ what }) => `ordered ${what}`,
})
const asks = { toolCalls: [{ name: 'order', input: { what: 'tea' } }] }
const model = scriptedModel([asks, { text: 'Tea comes.' }, asks, { text: 'Tea comes.' }])
const store = memoryStore()
const agent = createAgent({ name: 'butler', model, tools: [order], store })

// In a script:
assert.equal((await agent.run('Tea, please.', { onApproval: () => 'approve' })).text, 'Tea comes.')

// The same agent object behind a server:
const server = createServer({
  agents: [agent],
  store,
  authenticate(request) {
    const id = request.headers.get('authorization')?.replace('Bearer ', '')
    return id === 'ann' || id === 'olga' ? { id } : undefined
  },
  operator: ({ id }) => id === 'olga',
  approvals: { by: 'operator' },
})
const listening = await serve(server, { port: 0 })
const clientOf = (id: string) => createClient({ baseUrl: listening.url, headers: { authorization: `Bearer ${id}` } })

const session = clientOf('ann').session()
const { status } = await session.execute('Tea, please.').result
assert.equal(status, 'suspended')
const olga = clientOf('olga')
const { waits } = await olga.waits()
const approvals = waits.flatMap((one) =>
  one.kind === 'approval' ? [{ id: one.wait.id, decision: 'approve' as const }] : [],
)
await olga.decide(session.id ?? '', { approvals })

let latest = await session.get()
while (latest.status === 'suspended' || latest.status === 'running') latest = await session.get()
assert.equal(latest.status, 'idle')
const said = JSON.stringify(latest.messages.at(-1)?.content)
assert.match(said, /Tea comes/)
await assert.rejects(clientOf('eve').session(session.id).get())
await listening.close()
console.log(`${waits.length} wait decided, ${latest.status}`) // → 1 wait decided, idle
