// Operations: list and answer the waits of all sessions of a store, from a process that started none of them.
import { createAgent, memoryStore, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  input: z.object({ orderId: z.string(), amount: z.number() }),
  needsApproval: true,
  execute: ({ orderId, amount }) => `refunded ${amount} on ${orderId}`,
})
// Of several processes on several machines this would be postgresStore(url).
const store = memoryStore()
const makeDesk = (amount: number) =>
  createAgent({
    name: 'desk',
    model:
      process.env.PROVOST_MODEL ??
      scriptedModel(
        [
          ({ messages }) =>
            messages.at(-1)?.role === 'tool'
              ? { text: 'Done.' }
              : { toolCalls: [{ name: 'refund', input: { orderId: '17', amount } }] },
        ],
        { after: 'repeat-last' },
      ),
    tools: [refund],
    store,
  })
await makeDesk(80).run('Refund order 17, 80 euros', { principal: { id: 'ann' } })
await makeDesk(20).run('Refund order 17, 20 euros', { principal: { id: 'ben' } })

const desk = makeDesk(0)
for await (const { id, principal } of store.list({ status: 'suspended' })) {
  const session = await desk.resumeSession(id)
  const { approvals, uncertain } = session.pending
  for (const { id: token, toolName, input, reason } of approvals) {
    console.log(principal, toolName, JSON.stringify(input), reason)
    await session.resolve({ approvals: [{ id: token, decision: 'approve', by: 'boss' }] })
  }
  // After a manual check: `done` with its output, `retry` with the same key, or `fail`.
  for (const { callId } of uncertain) await session.resolve({ uncertain: [{ callId, decision: 'fail', by: 'boss' }] })
  console.log((await session.waitForIdle())?.text)
  await session.close()
}
// → ann refund {"orderId":"17","amount":80} refund needs approval
// → Done.
// → ben refund {"orderId":"17","amount":20} refund needs approval
// → Done.

for await (const { principal, status } of store.list()) console.log(principal, status)
// → ann idle
// → ben idle
