// A composite: a tool that calls other tools, waits for people in between, and goes on in another process where it stopped.
import { createAgent, memoryStore, RunState, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const price = tool({
  name: 'price',
  effect: 'read',
  input: z.object({ shirt: z.string() }),
  execute: ({ shirt }) => (shirt === 'blue' ? 30 : 50),
})
const paid: number[] = []
const pay = tool({
  name: 'pay',
  input: z.object({ euros: z.number() }),
  needsApproval: ({ euros }) => euros > 50,
  execute: ({ euros }) => `receipt ${paid.push(euros)}`,
})
// It acts through ctx alone. Each act has a key: entered again, it is answered from the log instead of acting twice.
const order = tool({
  name: 'order',
  composite: true,
  input: z.object({ shirts: z.array(z.string()) }),
  async execute({ shirts }, ctx) {
    const prices = await Promise.all(shirts.map((shirt, n) => ctx.call(price, { shirt }, { key: `price ${n}` })))
    const euros = prices.reduce((sum, { value = 0 }) => sum + value, 0)
    const number = await ctx.memo('number', () => `order ${1000 + paid.length}`)
    const { outcome, value } = await ctx.call(pay, { euros }, { key: 'pay' })
    if (outcome !== 'ok') return `${number}: not paid`
    const size = z.string().parse(await ctx.wait('size', { message: `Which size, for ${euros} euros?` }))
    return `${number}: ${shirts.join(' and ')} in ${size}, ${value}`
  },
})

const store = memoryStore()
const shop = () =>
  createAgent({
    name: 'shop',
    store,
    tools: [price, pay, order],
    model:
      process.env.PROVOST_MODEL ??
      scriptedModel(
        [
          ({ messages }) =>
            messages.at(-1)?.role === 'user'
              ? { toolCalls: [{ name: 'order', input: { shirts: ['blue', 'red'] } }] }
              : { text: 'Ordered.' },
        ],
        { after: 'repeat-last' },
      ),
  })

const first = await shop().run('A blue shirt and a red one.')
const [approval] = first.pending.approvals
console.log(first.status, approval?.toolName, approval?.input) // → suspended pay { euros: 80 }

// Days later, in another process.
const agent = shop()
const state = RunState.fromJSON(JSON.stringify(first.state), agent)
const second = await agent.run(state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
const [question] = second.pending.inputs
console.log(second.status, question?.message) // → suspended Which size, for 80 euros?
const third = await agent.run(second.state, { inputs: [{ id: question?.id ?? '', value: 'L' }] })
const [result] = third.messages.find(({ role }) => role === 'tool')?.content ?? []
console.log(result?.type === 'tool-result' && result.output) // → { type: 'text', value: 'order 1000: blue and red in L, receipt 1' }
console.log(third.status, paid) // → completed [ 80 ]
