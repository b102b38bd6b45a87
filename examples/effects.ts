// A payment whose reply is lost: the model repeats the call, the tool looks it up, and the bank pays once.
import { effectServer } from '@provost/testing'
import { createAgent, memoryStore, tool, z } from 'provost'
import { listEffects } from 'provost/sessions'
import { scriptedModel } from 'provost/testing'

const server = await effectServer({ faults: ['lose-reply'] })
const bank = {
  async pay(invoice: string, amount: number, key: string) {
    const body = JSON.stringify({ invoice, amount })
    const response = await fetch(`${server.url}/effects`, { method: 'POST', headers: { 'idempotency-key': key }, body })
    if (!response.ok) throw Object.assign(new Error('The bank failed.'), { status: response.status })
    return `paid ${invoice}`
  },
  async find(key: string) {
    const { ok } = await fetch(`${server.url}/effects/${key}`)
    return ok ? { receipt: 'found: paid' } : undefined
  },
}

const pay = tool({
  name: 'pay',
  input: z.object({ invoice: z.string(), amount: z.number() }),
  effectKey: ({ invoice }) => invoice,
  execute: ({ invoice, amount }, { idempotencyKey }) => bank.pay(invoice, amount, idempotencyKey),
  lookup: async (idempotencyKey) => {
    const paid = await bank.find(idempotencyKey)
    return paid && { output: paid.receipt }
  },
})

const call = { toolCalls: [{ name: 'pay', input: { invoice: '17', amount: 80 } }] }
const store = memoryStore()
const agent = createAgent({ name: 'desk', model: scriptedModel([call, call, { text: 'Done.' }]), tools: [pay], store })
const session = await agent.createSession()
for await (const event of session.stream('Pay invoice 17.')) {
  if (event.type === 'tool.execute.error') console.log(event.error.message) // → fetch failed
  if (event.type === 'tool.execute.end') console.log(event.via, event.output) // → ledger { type: 'text', value: 'found: paid' }
}

for await (const { key, state } of listEffects(store, { scope: 'session', scopeId: session.id })) {
  console.log(key, state) // → 17 confirmed
}
console.log(server.effects.length, 'payment') // → 1 payment
await server.close()
