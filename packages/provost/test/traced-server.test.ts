import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { createAgent, memoryStore } from 'provost'
import { createServer, serve } from 'provost/server'
import { collectSpans, spanTree, telemetry, traceRequests } from 'provost/telemetry'
import { scriptedModel } from 'provost/testing'
import { expect, onTestFinished, test } from 'vitest'

test('a traced server has a span for each request, named after its route, with the run below it', async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(() => context.disable())
  const { tracer, spans } = collectSpans()
  const store = memoryStore()
  const desk = createAgent({
    name: 'desk',
    model: scriptedModel([{ text: 'Hello.' }]),
    store,
    extensions: [telemetry({ tracer })],
  })
  const server = createServer({ agents: [desk], store })
  const listening = await serve(
    { ...server, fetch: traceRequests(server.fetch, { tracer, route: server.routeOf }) },
    { port: 0 },
  )
  onTestFinished(() => listening.close())
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({
    id: 'chat',
    messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  })
  await (await fetch(`${listening.url}/api/chat`, { method: 'POST', headers, body })).text()
  await (await fetch(`${listening.url}/api/agent/session/unknown`)).text()
  await (await fetch(`${listening.url}/no/such/path`)).text()
  await expect.poll(() => spans.filter(({ end }) => end === undefined)).toEqual([])
  const names = spanTree(spans).map(({ name, children }) => [name, children.map((child) => child.name)])
  expect(names).toEqual([
    ['POST /api/chat', ['invoke_agent desk']],
    ['GET /api/agent/session/{id}', []],
    ['GET', []],
  ])
})
