// A secret reaches the tool that declares it. The model, the log and all listeners receive a token in its place.
import { createAgent, memoryStore, secretRef, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

process.env.BANK_KEY = 'sk-bank-4711'

const balance = tool({
  name: 'balance',
  effect: 'read',
  secrets: ['BANK_KEY'],
  input: z.object({ account: z.string() }),
  execute({ account }, ctx) {
    // The value is there, for this call; `ctx.secrets.OTHER` would not compile, and be denied.
    const authorization = `Bearer ${ctx.secrets.BANK_KEY}`
    console.log(authorization.length) // → 19
    return { account, cents: 1250, sent: { authorization } }
  },
})

const asked = { toolCalls: [{ name: 'balance', input: { account: 'ann' } }] }
const model = process.env.PROVOST_MODEL ?? scriptedModel([asked, { text: 'You have 12.50.' }])
const store = memoryStore()
const teller = createAgent({
  name: 'teller',
  model,
  store,
  tools: [balance],
  secrets: { BANK_KEY: secretRef('env:BANK_KEY') },
})

const { sessionId, text } = await teller.run('How much do I have?')
console.log(text) // → You have 12.50.
for await (const entry of store.read(sessionId)) {
  if (entry.type === 'call' && entry.op === 'settled') console.log(JSON.stringify(entry.output))
  // → {"type":"json","value":{"account":"ann","cents":1250,"sent":{"authorization":"Bearer ⟦secret:BANK_KEY⟧"}}}
}
