import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { collectSpans, traceRequests } from '../../src/index.ts'
import { doneStep, traced } from '../traced.ts'

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => context.disable())

const url = 'http://agents.test:8080/api/agent/session/a1/events?token=abc'
const route = () => '/api/agent/session/{id}/events'

function collected(handle: (request: Request) => Response | Promise<Response>, options = {}) {
  const { tracer, take } = collectSpans()
  return { fetch: traceRequests(handle, { tracer, ...options }), take }
}

describe('a request has a span', () => {
  it('with its route and status, without its query', async () => {
    const { fetch, take } = collected(() => Response.json({ ok: true }), { route })
    expect(await (await fetch(new Request(url))).json()).toEqual({ ok: true })
    const [span] = take()
    expect(span).toMatchObject({ name: 'GET /api/agent/session/{id}/events', kind: 'server', failed: false })
    expect(span?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'http.route': '/api/agent/session/{id}/events',
      'server.address': 'agents.test',
      'server.port': 8080,
      'url.path': '/api/agent/session/a1/events',
      'url.scheme': 'http',
    })
  })

  it('named after its method where the route is unknown, and failed only by the server', async () => {
    const statuses = [404, 503]
    const { fetch, take } = collected(() => new Response(null, { status: statuses.shift() ?? 200 }))
    await fetch(new Request(url))
    await fetch(new Request(url, { method: 'PROPFIND' }))
    expect(take().map(({ name, failed, attributes }) => [name, failed, attributes['error.type']])).toEqual([
      ['GET', false, undefined],
      ['HTTP', true, '503'],
    ])
  })

  it('that ends with the last byte of a stream', async () => {
    const last = Promise.withResolvers<void>()
    const encoder = new TextEncoder()
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(encoder.encode('one '))
        await last.promise
        controller.enqueue(encoder.encode('two'))
        controller.close()
      },
    })
    const { fetch, take } = collected(() => new Response(body))
    const response = await fetch(new Request(url))
    const [open] = take()
    expect(open?.end).toBeUndefined()
    last.resolve()
    expect(await response.text()).toBe('one two')
    expect(open?.end).toBeDefined()
  })

  it('that ends when its client goes away, and the stream of the handler is cancelled', async () => {
    const cancelled = Promise.withResolvers<unknown>()
    const endless = new ReadableStream({ cancel: (reason) => cancelled.resolve(reason) })
    const { fetch, take } = collected(() => new Response(endless))
    await (await fetch(new Request(url))).body?.cancel('gone')
    expect(await cancelled.promise).toBe('gone')
    expect(take()).toMatchObject([{ events: [{ name: 'provost.response.cancelled' }], failed: false }])
  })

  it('that is measured once if its client goes away within a read', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const readers = [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })]
    const meters = new MeterProvider({ readers })
    const silent = new ReadableStream({})
    const { fetch } = collected(() => new Response(silent), { meter: meters.getMeter('test') })
    const reader = (await fetch(new Request(url))).body?.getReader()
    const read = reader?.read()
    await reader?.cancel('gone')
    await read
    await meters.forceFlush()
    const points = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
    expect(points.flatMap(({ dataPoints }) => dataPoints.map((point) => point.attributes['error.type']))).toEqual([
      undefined,
    ])
  })

  it('without a route, and the same response, if the function of the route throws', async () => {
    const broken = () => {
      throw new Error('no route')
    }
    for (const body of ['body', null]) {
      const { fetch, take } = collected(() => new Response(body), { route: broken })
      expect(await (await fetch(new Request(url))).text()).toBe(body ?? '')
      expect(take()).toMatchObject([{ name: 'GET', end: expect.any(Number) as number, failed: false }])
    }
  })

  it('with the class of an error that the handler throws', async () => {
    const { fetch, take } = collected(() => {
      throw new RangeError('text of the error')
    })
    await expect(fetch(new Request(url))).rejects.toThrow('text of the error')
    const [span] = take()
    expect(span).toMatchObject({ failed: true, attributes: { 'error.type': 'RangeError' } })
    expect(JSON.stringify(span)).not.toContain('text of the error')
  })

  it('of an MCP client, with its call below it and the run below that', async () => {
    const { tracer, take } = collectSpans()
    const { agent } = traced([doneStep], {}, { tracer })
    const fetch = traceRequests(async () => new Response((await agent.run('go')).text), { tracer })
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': 'desk', 'mcp-protocol-version': '2026-07-28' }
    await (await fetch(new Request(url, { method: 'POST', headers }))).text()
    const [request, call, run] = take()
    expect(call).toMatchObject({ name: 'tools/call desk', kind: 'server', parentId: request?.spanId })
    expect(call?.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'desk',
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'network.transport': 'tcp',
    })
    expect(run).toMatchObject({ name: 'invoke_agent desk', parentId: call?.spanId })
  })

  it.for(['tools/call\u00e9', 'x'.repeat(200), '<script>'])(
    'of a client that sends %s as its MCP method, as of any other',
    async (method) => {
      const { fetch, take } = collected(() => new Response('ok'))
      await (await fetch(new Request(url, { headers: { 'mcp-method': method } }))).text()
      expect(take()).toHaveLength(1)
    },
  )

  it('in the trace of its caller, with the run that it starts below it', async () => {
    const { tracer, take } = collectSpans()
    const { agent } = traced([doneStep], {}, { tracer })
    const fetch = traceRequests(async () => new Response((await agent.run('go')).text), { tracer })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await (await fetch(new Request(url, { headers: { traceparent } }))).text()
    const [request, run] = take()
    expect(request).toMatchObject({ traceId: '0af7651916cd43dd8448eb211c80319c', parentId: 'b7ad6b7169203331' })
    expect(run).toMatchObject({ name: 'invoke_agent desk', parentId: request?.spanId })
  })
})
