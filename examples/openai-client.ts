// An agent behind the API of OpenAI: its own client asks, approves, and continues the conversation.
import OpenAI from 'openai'
import { createAgent, memoryStore, tool, z } from 'provost'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  effect: 'write',
  needsApproval: true,
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${amount}`,
})
const model = scriptedModel([
  { toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
  { text: 'The refund is on its way.' },
])
const store = memoryStore()
const agent = createAgent({ name: 'desk', model, tools: [refund], store })
const server = createServer({
  agents: [agent],
  store,
  authenticate: (request) => (request.headers.get('authorization') === 'Bearer ann-token' ? { id: 'ann' } : undefined),
  approvals: { by: 'requester' },
})
const listening = await serve(server, { port: 0 })

const client = new OpenAI({ apiKey: 'ann-token', baseURL: `${listening.url}/v1` })
const response = await client.responses.create({ model: 'desk', input: 'Refund 80' })
for (const item of response.output) {
  if (item.type !== 'mcp_approval_request') continue
  console.log(item.name, item.arguments) // → refund {"amount":80}
  const stream = client.responses.stream({
    model: 'desk',
    previous_response_id: response.id,
    input: [{ type: 'mcp_approval_response', approval_request_id: item.id, approve: true }],
  })
  const answer = await stream.finalResponse()
  console.log(answer.output_text) // → The refund is on its way.
}

await listening.close()
