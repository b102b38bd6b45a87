// One service for Docker, systemd and PostgreSQL. Its settings come from the environment.
import { createAgent, tool, z } from 'provost'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

import { openStore } from './store.ts'

const { AGENT_TOKEN, SHOP_URL, HOST = '127.0.0.1', PORT = '8080', PROVOST_MODEL } = process.env
if (!AGENT_TOKEN || !SHOP_URL) throw new Error('Set AGENT_TOKEN, which clients send, and SHOP_URL, where orders go.')

const order = tool({
  name: 'order',
  description: 'Orders an item from the shop.',
  effect: 'write',
  input: z.object({ item: z.string() }),
  // The shop ignores a request with a known key. For one that does not, leave this out: a lost reply then needs a human.
  idempotent: true,
  async execute({ item }, { idempotencyKey, signal }) {
    const headers = { 'idempotency-key': idempotencyKey }
    const response = await fetch(`${SHOP_URL}/orders/${item}`, { method: 'POST', headers, signal })
    if (!response.ok) throw new Error(`The shop answered ${response.status}.`)
    return response.text()
  },
})

/** Two answers, until PROVOST_MODEL names a real model. */
const scripted = scriptedModel(
  [
    ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { text: 'It is ordered.' }
        : { toolCalls: [{ name: 'order', input: { item: 'tea' } }] },
  ],
  { after: 'repeat-last' },
)

const store = await openStore()
const desk = createAgent({ name: 'desk', model: PROVOST_MODEL ?? scripted, tools: [order], store })
const server = createServer({
  agents: [desk],
  store,
  authenticate: (request) =>
    request.headers.get('authorization') === `Bearer ${AGENT_TOKEN}` ? { id: 'app' } : undefined,
  approvals: { by: 'requester' },
})
const listening = await serve(server, { port: Number(PORT), hostname: HOST })
console.log(`listening on ${listening.url}`)

// Active tools may end, no new ones start; the next process continues the runs.
process.once('SIGTERM', async () => {
  await listening.close({ graceMs: 10_000 })
  await store.close()
})
