// Triage hands the conversation over: billing goes on with the user, with its own prompt and tools, and with what the
// filter lets across. What crossed is data in the log, and is replayed from it.
import type { Entry } from 'provost'
import { createAgent, filters, handoff, memoryStore, tool, z } from 'provost'
import { replayHandoffs } from 'provost/replay'
import { scriptedModel } from 'provost/testing'

const invoice = tool({
  name: 'invoice',
  effect: 'read',
  input: z.object({ id: z.number() }),
  execute: ({ id }) => `Invoice ${id}: 80 euros, paid.`,
})
const account = tool({
  name: 'account',
  effect: 'read',
  input: z.object({}),
  returns: { confidentiality: 'secret' },
  execute: () => 'PIN 4711',
})

const billing = createAgent({
  name: 'billing',
  description: 'Knows invoices and payments.',
  instructions: 'You answer questions about invoices.',
  model: scriptedModel([
    (prompt) => {
      console.log('billing knows the PIN:', JSON.stringify(prompt.messages).includes('4711'))
      return { toolCalls: [{ name: 'invoice', input: { id: 7 } }] }
    },
    { text: 'Invoice 7 is paid.' },
    { text: 'You are welcome.' },
  ]),
  tools: [invoice],
})

const filter = filters.compose(filters.bySensitivity({ drop: 'secret' }), filters.lastN(6))
const store = memoryStore()
const triage = createAgent({
  name: 'triage',
  model: scriptedModel([
    { toolCalls: [{ name: 'account', input: {} }] },
    { toolCalls: [{ name: 'transfer_to_billing', input: { message: 'It is about invoice 7.' } }] },
  ]),
  tools: [account],
  handoffs: [handoff(billing, { filter })],
  store,
})

const session = await triage.createSession({ id: 'ann-17' })
session.on('handoff.end', ({ from, to, status }) => console.log(`${from} → ${to}: ${status}`))
session.on('text.end', ({ agent, text }) => console.log(`${agent}: ${text}`))

await session.stream('Is invoice 7 paid?').result
// → triage → billing: accepted
// → billing knows the PIN: false
// → billing: Invoice 7 is paid.

// The session stays with billing, in any process that opens it.
await session.stream('Thank you.').result
// → billing: You are welcome.

const log: Entry[] = []
for await (const line of store.read('ann-17')) log.push(line)
for (const { entry, messages, intact } of replayHandoffs(log)) {
  console.log(entry.filter.kind, messages.length, intact) // → compose 1 true
}
