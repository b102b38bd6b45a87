// Approve later: no human is present, so the run is suspended, stored as JSON, and resumed after a decision.
import { createAgent, RunState, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  input: z.object({ orderId: z.string(), amount: z.number() }),
  needsApproval: true,
  execute({ orderId, amount }) {
    console.log(`refunding ${amount} on ${orderId}`)
    return 'done'
  },
})
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [{ name: 'refund', input: { orderId: '17', amount: 80 } }] },
    { text: 'You get 60 euros back.' },
  ])
const makeDesk = () => createAgent({ name: 'desk', instructions: 'Help with orders.', model, tools: [refund] })

const asked = await makeDesk().run('Refund order 17, 80 euros')
for (const { toolName, input, reason } of asked.pending.approvals) console.log(toolName, JSON.stringify(input), reason)
console.log(asked.status)
// → refund {"orderId":"17","amount":80} refund needs approval
// → suspended

// The state of a run is JSON: a file, a row, a message to the boss.
const saved = JSON.stringify(asked.state)

// Days later, in another process. The boss approves a smaller amount; the policies check the edited arguments again.
const desk = makeDesk()
const approvals = asked.pending.approvals.map(({ id }) => {
  return { id, decision: 'approve', by: 'boss', args: { orderId: '17', amount: 60 } } as const
})
const done = await desk.run(RunState.fromJSON(saved, desk), { approvals })
console.log(done.status, done.text)
// → refunding 60 on 17
// → completed You get 60 euros back.

// Resuming a second time does not repeat finished calls.
const again = await desk.run(RunState.fromJSON(saved, desk), { approvals })
console.log(again.status, again.text)
// → completed You get 60 euros back.
