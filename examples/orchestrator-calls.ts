// An orchestrator that calls tools itself: the order is read before the model speaks, and what the model decides is carried
// out with an approval. Neither call depends on the model's choice of tools.
import { createAgent, memoryStore, tool, z } from 'provost'
import type { Orchestrator } from 'provost'
import { scriptedModel } from 'provost/testing'

const readOrder = tool({
  name: 'read_order',
  effect: 'read',
  input: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, euros: 30, broken: true }),
})

const refund = tool({
  name: 'refund',
  input: z.object({ id: z.string(), euros: z.number() }),
  needsApproval: true,
  execute: ({ euros }) => `refunded ${euros} euros`,
})

const handleComplaint: Orchestrator = async (run) => {
  const { value: order } = await run.callTool(readOrder, { id: 'A7' })
  const { decision } = await run.object(z.object({ decision: z.enum(['refund', 'reject']) }), { tools: [] })
  if (order && decision === 'refund') await run.callTool(refund, { id: order.id, euros: order.euros })
  await run.say('Tell the customer what happened.')
  await run.model({ tools: [] })
}

const desk = createAgent({
  name: 'desk',
  model: scriptedModel([{ text: '{"decision": "refund"}' }, { text: 'You have your 30 euros back.' }]),
  tools: [readOrder, refund],
  store: memoryStore(),
  orchestrator: handleComplaint,
})

const asked = await desk.run('My order A7 arrived broken.')
const [approval] = asked.pending.approvals
console.log(asked.status, approval?.toolName, JSON.stringify(approval?.input)) // → suspended refund {"id":"A7","euros":30}

// The function is called again. The order is read from the log, and the approved call is made once.
const approvals = [{ id: approval?.id ?? '', decision: 'approve' as const }]
const stream = desk.stream(asked.state, { approvals })
for await (const event of stream) if (event.type === 'tool.execute.end') console.log(event.toolName) // → refund
console.log((await stream.result).text) // → You have your 30 euros back.
