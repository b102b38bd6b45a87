// Waits: a tool that asks a human while it runs, a remote call that times out, and a check of a call that a crash
// interrupted.
import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const order = tool({
  name: 'order',
  input: z.object({ shirt: z.string() }),
  async execute({ shirt }, ctx) {
    const schema = { type: 'object', properties: { size: { type: 'string' } } } as const
    const answer = await ctx.ask({ message: `Which size of ${shirt}?`, schema })
    return answer === null ? 'not ordered' : `ordered ${shirt}: ${JSON.stringify(answer)}`
  },
})
const bank = new Map<string, string>()
const pay = tool({
  name: 'pay',
  input: z.object({ euros: z.number() }),
  execute({ euros }, { idempotencyKey }) {
    bank.set(idempotencyKey, `paid ${euros}`)
    return `paid ${euros}`
  },
  // If the process dies during a payment, the next one checks its outcome: it is not paid twice, and no human is asked.
  lookup(key) {
    const output = bank.get(key)
    return output === undefined ? undefined : { output }
  },
})
// No execute: the result comes from elsewhere, within this time.
const courier = tool({ name: 'courier', input: z.object({}), timeoutMs: 20 })

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [{ name: 'order', input: { shirt: 'blue' } }] },
    { toolCalls: [{ name: 'pay', input: { euros: 80 } }, { name: 'courier' }] },
    { text: 'Ordered and paid; the courier does not answer.' },
  ])
const shop = createAgent({ name: 'shop', model, tools: [order, pay, courier] })
const session = await shop.createSession()
const completed = Promise.withResolvers<string>()
session
  .on('input.requested', ({ id, message }) => {
    console.log(message) // → Which size of blue?
    return session.resolve({ inputs: [{ id, value: { size: 'L' } }] })
  })
  .on('tool.execute.end', ({ output }) => console.log(output.type === 'text' ? output.value : output.type))
  // → ordered blue: {"size":"L"}
  // → paid 80
  .on('tool.execute.error', ({ toolName, error }) => console.log(toolName, error.code)) // → courier tool-timeout
  .on('agent.end', ({ status, text }) => status === 'completed' && completed.resolve(text))
session.send('A blue shirt, by courier.')

// Suspended for the courier, the session goes on by itself when his time is over: if the process has other work until then.
const other = setInterval(() => {}, 1000)
console.log(await completed.promise) // → Ordered and paid; the courier does not answer.
clearInterval(other)
await session.close()
