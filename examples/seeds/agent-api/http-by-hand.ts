// Agents over HTTP with nothing but `fetch`: the server keeps the session, the client sends what is new, and runs a tool of
// its own between two requests.
// Changed: the server decides which agents and models there are; a client brings tools, not contexts.
import assert from 'node:assert/strict'

import { createAgent, memoryStore } from 'provost'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([
  { text: 'One moment. ', toolCalls: [{ name: 'battery' }] },
  { text: 'Half full.' },
  { text: 'Bye.' },
])
const store = memoryStore()
const server = createServer({ agents: [createAgent({ name: 'phone', model, store })], store })
const listening = await serve(server, { port: 0 })
const api = `${listening.url}/api/agent`

async function execute(body: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${api}/execute`, { method: 'POST', headers, body: JSON.stringify(body) })
  const sessionId = response.headers.get('x-session-id') ?? ''
  if (!response.ok) return { sessionId, status: response.status, types: [''] }
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
  const frames = (await response.text()).matchAll(/^event: (.*)\ndata: (.*)$/gm)
  const events = [...frames].map(([, type = '', data = '']) => ({ type, data: JSON.parse(data) }))
  const { pending } = events.find(({ type }) => type === 'agent.suspended')?.data ?? {}
  return { sessionId, status: 200, types: events.map(({ type }) => type), last: events.at(-1)?.data, pending }
}

// A function does not survive JSON, so what arrives is a tool that runs elsewhere.
const battery = { name: 'battery', inputSchema: { type: 'object' }, execute: () => '50 %' }
const first = await execute({ input: 'How full is it?', tools: [battery] })
assert.ok(first.sessionId)
assert.ok(first.types.includes('text.delta'))
assert.equal(first.types.at(-1), 'execute_complete')
assert.equal(first.last.status, 'suspended')

const toolResults = first.pending.remoteCalls.map(({ callId }: { callId: string }) => ({
  callId,
  output: battery.execute(),
}))
const second = await execute({ sessionId: first.sessionId, toolResults })
assert.equal(second.last.status, 'completed')
const third = await execute({ sessionId: first.sessionId, input: 'Thanks' })
assert.equal(third.sessionId, first.sessionId)

const { messages } = await (await fetch(`${api}/session/${first.sessionId}`)).json()
assert.equal(messages.length, 6)
assert.equal((await fetch(`${api}/session/unknown`)).status, 404)
assert.equal((await execute({ sessionId: 'unknown', input: 'Hello' })).status, 404)
assert.equal((await execute({})).status, 400)
await listening.close()
console.log(`3 requests, ${messages.length} messages on the server`) // → 3 requests, 6 messages on the server
