// A tool that need not run twice for the same input: its results are kept for the same principal in the same session.
import { createAgent, memoryStore, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const rates = tool({
  name: 'exchange_rate',
  effect: 'read',
  input: z.object({ from: z.string(), to: z.string() }),
  // `share: 'agent'` shares a result between all principals: right for rates, wrong for a mailbox.
  cache: { ttlMs: 60_000 },
  execute({ from, to }) {
    console.log('asking the bank for', from, to)
    return 0.087
  },
})

const ask = { toolCalls: [{ name: 'exchange_rate', input: { from: 'NOK', to: 'EUR' } }] }
const again = { toolCalls: [{ name: 'exchange_rate', input: { to: 'EUR', from: 'NOK' } }] }
const model =
  process.env.PROVOST_MODEL ?? scriptedModel([ask, again, { text: 'About nine cents.' }, ask, { text: 'The same.' }])

const store = memoryStore()
const teller = createAgent({ name: 'teller', model, store, tools: [rates] })
const { sessionId, text } = await teller.run('What is a krone worth?', { principal: { id: 'ann' } })
// → asking the bank for NOK EUR
console.log(text) // → About nine cents.
for await (const entry of store.read(sessionId)) {
  if (entry.type === 'call' && entry.op === 'settled') console.log(entry.via)
  // → executed
  // → cache
}

console.log((await teller.run('And now?', { sessionId, principal: { id: 'bob' } })).text)
// → asking the bank for NOK EUR
// → The same.
