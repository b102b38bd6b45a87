// A run that began with an earlier release waits until an operator accepts what changed.
import { createAgent, memoryStore, tool, z } from 'provost'
import { createClient } from 'provost/client'
import { createServer } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const store = memoryStore()
const refund = tool({
  name: 'refund',
  effect: 'write',
  input: z.object({ amount: z.number() }),
  needsApproval: true,
  execute: ({ amount }) => `refunded ${amount}`,
})
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'Refunded.' }])

/** A release of the desk behind its server, with a client of an operator. */
function release(version: string, instructions: string) {
  const desk = createAgent({ name: 'desk', model, instructions, tools: [refund], store, version, whenChanged: 'ask' })
  const server = createServer({ agents: [desk], store, onError: () => {} })
  return {
    server,
    client: createClient({
      baseUrl: 'http://localhost',
      fetch: async (url, init) => server.fetch(new Request(url, init)),
    }),
  }
}

const first = release('1', 'Help with orders.')
const session = first.client.session()
const { sessionId } = await session.execute('Refund 80 euros').result
await first.server.close()

const second = release('2', 'Help with orders, in two sentences at most.')
const { waits } = await second.client.waits()
console.log(waits.map(({ kind }) => kind).join(', ')) // → change, approval
for (const row of waits) {
  if (row.kind !== 'change') continue
  console.log(row.text) // → Agent desk changed since its run began: version 1 is now 2, the instructions changed.
  console.log(await second.client.acceptChange(sessionId, row.change.id)) // → true
}

const again = second.client.session(sessionId)
const { pending } = await again.follow().result
await again.resolve({ approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const })) })
console.log((await again.follow().result).text) // → Refunded.
await second.server.close()
