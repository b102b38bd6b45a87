// A span for each HTTP request of a server, named after its route. With an SDK registered, the runs of a request are below it.
import { createAgent, memoryStore } from 'provost'
import { createServer, serve } from 'provost/server'
import { collectSpans, traceRequests } from 'provost/telemetry'
import { scriptedModel } from 'provost/testing'

const { tracer, take } = collectSpans()
const store = memoryStore()
const desk = createAgent({ name: 'desk', model: scriptedModel([{ text: 'Hello.' }]), store })
const server = createServer({ agents: [desk], store })
const listening = await serve(
  { ...server, fetch: traceRequests(server.fetch, { tracer, route: server.routeOf }) },
  { port: 0 },
)

const headers = { 'content-type': 'application/json' }
const body = JSON.stringify({ input: 'Hello?' })
await (await fetch(`${listening.url}/api/agent/execute`, { method: 'POST', headers, body })).text()
await (await fetch(`${listening.url}/api/agent/session/unknown`)).text()
await listening.close()

for (const { name, attributes } of take()) console.log(name, attributes['http.response.status_code'])
// → POST /api/agent/execute 200
// → GET /api/agent/session/{id} 404
