// A client of one's own, with the types that openapi-typescript writes from /openapi.json.
import createClient from 'openapi-fetch'

import type { paths } from './generated/api.ts'

const baseUrl = process.argv[2] ?? ''
const client = createClient<paths>({ baseUrl })

const ready = await client.GET('/ready')
const started = await client.POST('/api/agent/execute', {
  body: { agent: 'desk', input: 'Refund order 17.' },
  parseAs: 'text',
})
const id = started.response.headers.get('x-session-id') ?? ''
const session = await client.GET('/api/agent/session/{id}', { params: { path: { id } } })
const [asked] = session.data?.pending.approvals ?? []
const decided = await client.POST('/api/agent/session/{id}/approvals', {
  params: { path: { id } },
  body: { approvals: [{ id: asked?.id ?? '', decision: 'approve' }] },
})
const listed = await client.GET('/api/agent/sessions', { params: { query: { limit: 5 } } })
const unknown = await client.GET('/api/agent/session/{id}', { params: { path: { id: 'unknown' } } })

console.log(
  JSON.stringify({
    ready: ready.data?.status,
    started: started.response.status,
    waitsFor: asked?.toolName,
    decided: decided.response.status,
    listed: listed.data?.sessions.map((one) => one.id === id),
    unknown: unknown.error?.error.code,
  }),
)
