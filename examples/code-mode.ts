// Code mode: the model writes a script over fifty tool results, and one line of it comes back.
import { createAgent, tool, z } from 'provost'
import { codeMode } from 'provost/code-mode'
import { scriptedModel } from 'provost/testing'

const order = tool({
  name: 'order',
  description: 'Reads an order.',
  effect: 'read',
  input: z.object({ id: z.number().int() }),
  output: z.object({ id: z.number(), customer: z.string(), euros: z.number(), lines: z.array(z.string()) }),
  execute: ({ id }) => ({
    id,
    customer: `customer ${id % 7}`,
    euros: id * 3,
    lines: Array.from({ length: 5 }, (_, n) => `article ${id * 100 + n}, as ordered, with all that is known of it`),
  }),
})

const ids = Array.from({ length: 50 }, (_, n) => n + 1)
const source = `const orders = await Promise.all(${JSON.stringify(ids)}.map((id: number) => tools.order({ id })))
const spent = new Map<string, number>()
for (const { customer, euros } of orders) spent.set(customer, (spent.get(customer) ?? 0) + euros)
const [best] = [...spent].sort((a, b) => b[1] - a[1])
return \`\${best[0]} spent \${best[1]} euros\``

async function tokensOf(calls: 'direct' | 'scripted'): Promise<number> {
  const agent = createAgent({
    name: 'analyst',
    tools: [order],
    extensions: calls === 'scripted' ? [codeMode()] : [],
    model: scriptedModel([
      calls === 'direct'
        ? { toolCalls: ids.map((id) => ({ name: 'order', input: { id } })) }
        : { toolCalls: [{ name: 'code_execute', input: { source } }] },
      { text: 'Done.' },
    ]),
  })
  const { messages } = await agent.run('Which customer spent most in the orders 1 to 50?')
  const results = messages.flatMap(({ content }) => content.filter((part) => part.type === 'tool-result'))
  if (calls === 'scripted') console.log(JSON.stringify(results[0]?.output))
  // About four characters are a token.
  return Math.round(JSON.stringify(messages.map(({ content }) => content)).length / 4)
}

const inCode = await tokensOf('scripted') // → {"type":"json","value":{"result":"customer 1 spent 612 euros"}}
const direct = await tokensOf('direct')
console.log(`${direct} tokens with direct calls, ${inCode} in code mode`) // → 9031 tokens with direct calls, 252 in code mode
console.log(`${Math.round((1 - inCode / direct) * 100)}% saved`) // → 97% saved
