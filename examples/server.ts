// Agents over HTTP: a server, a client with a tool of its own, an approval, and a second look at the session.
import { createAgent, memoryStore, tool, z } from 'provost'
import { createClient } from 'provost/client'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([
  { text: 'Let me see where you are. ', toolCalls: [{ name: 'locate' }] },
  { toolCalls: [{ name: 'order', input: { shop: 'Main Street 7' } }] },
  { text: 'Ordered from Main Street 7.' },
])
const order = tool({
  name: 'order',
  needsApproval: true,
  input: z.object({ shop: z.string() }),
  execute: ({ shop }) => `ordered from ${shop}`,
})

const store = memoryStore()
const agent = createAgent({ name: 'errands', model, tools: [order], store })
const server = createServer({
  agents: [agent],
  store,
  authenticate: (request) => (request.headers.get('authorization') === 'Bearer ann-token' ? { id: 'ann' } : undefined),
  approvals: { by: 'requester' },
})
const listening = await serve(server, { port: 0 })

const client = createClient({ baseUrl: listening.url, headers: { authorization: 'Bearer ann-token' } })
const session = client.session({
  tools: [{ name: 'locate', description: 'Where the user is.', input: z.object({}), execute: () => 'Main Street' }],
})
const stream = session.execute('Order a pizza near me', {
  onApproval: ({ toolName }) => (toolName === 'order' ? 'approve' : 'deny'),
})
let text = ''
for await (const event of stream) {
  if (event.type === 'text.delta') text += event.delta
  if (event.type === 'tool.remote.requested') console.log(`${event.toolName} runs in the client`) // → locate runs in the client
  if (event.type === 'tool.approval.resolved') console.log(`${event.toolName}: ${event.decision} by ${event.by}`) // → order: approve by ann
}
console.log(text) // → Let me see where you are. Ordered from Main Street 7.
const { status } = await stream.result
console.log(status) // → completed

const { messages } = await session.get()
console.log(messages.length, 'messages on the server') // → 6 messages on the server

const stranger = createClient({ baseUrl: listening.url })
const refused = await stranger
  .session(session.id)
  .get()
  .catch((error: unknown) => error)
console.log(refused instanceof Error && refused.message) // → The request has no valid credentials.
await listening.close()
