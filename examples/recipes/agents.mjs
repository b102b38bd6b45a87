import { createAgent, memoryStore, tool, z } from 'provost'
import { createServer } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const order = tool({
  name: 'order',
  input: z.object({ item: z.string() }),
  needsApproval: true,
  execute: ({ item }) => `ordered ${item}`,
})
const model = scriptedModel(
  [
    ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { text: ['It is ', 'ordered.'] }
        : { toolCalls: [{ name: 'order', input: { item: 'tea' } }] },
  ],
  { after: 'repeat-last' },
)
const store = memoryStore()
export const agents = createServer({
  agents: [createAgent({ name: 'errands', model, tools: [order], store })],
  store,
  authenticate: (request) => (request.headers.get('authorization') === 'Bearer ann-token' ? { id: 'ann' } : undefined),
  approvals: { by: 'requester' },
  // Next removes the header that says so from compressed responses. The other frameworks pass it on.
  compression: false,
})
