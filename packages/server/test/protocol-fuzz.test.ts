import { connect } from 'node:net'

import { createAgent } from '@provost/agent'
import type { Server } from '@provost/server'
import { serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import * as fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'

import { ask, executed, refund, serverOf } from './served.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

/** A valid request. `SESSION` is a session that waits for the approval `WAIT`. */
interface Seed {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

const session = '/api/agent/session/SESSION'
const hi = { role: 'user', content: 'Hi.' }
const mcp = { accept: 'application/json, text/event-stream' }
const tool = { name: 'locate', description: 'Locates.', parameters: { type: 'object', properties: {} } }

/** One request for each way in, as its clients send it. */
const seeds: readonly Seed[] = [
  { method: 'POST', path: '/api/agent/execute', body: { input: 'Hi.', options: { maxSteps: 2 } } },
  {
    method: 'POST',
    path: '/api/agent/execute',
    body: { input: [{ type: 'text', text: 'Hi.' }], messages: [hi] },
  },
  { method: 'POST', path: `${session}/approvals`, body: { approvals: [{ id: 'WAIT', decision: 'deny' }] } },
  { method: 'POST', path: `${session}/tool-results`, body: { toolResults: [{ callId: 'WAIT', output: { a: [1] } }] } },
  { method: 'POST', path: `${session}/abort`, body: { graceMs: 0, onPendingApprovals: 'hold' } },
  { method: 'GET', path: session },
  { method: 'GET', path: `${session}/events?types=text.delta` },
  { method: 'GET', path: `${session}/export` },
  { method: 'GET', path: '/api/agent/sessions?limit=5' },
  { method: 'GET', path: '/api/waits?limit=5' },
  {
    method: 'POST',
    path: '/api/chat',
    body: { id: 'chat', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }] },
  },
  {
    method: 'POST',
    path: '/v1/responses',
    body: { model: 'desk', input: [hi], stream: true, tools: [{ type: 'function', ...tool }], metadata: { a: 'b' } },
  },
  {
    method: 'POST',
    path: '/v1/chat/completions',
    body: { model: 'desk', messages: [hi], stream: true, tools: [{ type: 'function', function: tool }] },
  },
  { method: 'GET', path: '/v1/models/desk' },
  {
    method: 'POST',
    path: '/ag-ui/desk',
    body: {
      threadId: 'thread',
      runId: 'run',
      messages: [{ id: 'm', ...hi }],
      tools: [tool],
      context: [],
      state: {},
      forwardedProps: {},
    },
  },
  {
    method: 'POST',
    path: '/a2a/desk',
    headers: { 'a2a-version': '1.0' },
    body: {
      jsonrpc: '2.0',
      id: 7,
      method: 'SendMessage',
      params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi.' }] } },
    },
  },
  {
    method: 'POST',
    path: '/a2a/desk',
    headers: { 'a2a-version': '1.0' },
    body: { jsonrpc: '2.0', id: 7, method: 'ListTasks', params: { pageSize: 3 } },
  },
  {
    method: 'POST',
    path: '/mcp',
    headers: mcp,
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    },
  },
  {
    method: 'POST',
    path: '/mcp',
    headers: mcp,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'desk', arguments: { input: 'Hi.' } } },
  },
]

const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, true, 0, -1, 1e308, 2 ** 53, '', '\u0000', '\uD800', '__proto__', 'constructor', '../..', '%2e%2e'],
    ...['x'.repeat(5_000), [], {}, [[]], { toString: 1 }, { type: 'text' }, { $ref: '#' }, 'SESSION', 'WAIT'],
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(50, 400).map((depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)),
)

/** What is done to a value of a request, at a place that a number chooses. */
const change = fc.record({
  at: fc.nat(1_000),
  how: fc.constantFrom('replace', 'remove', 'add', 'repeat'),
  name: fc.constantFrom('__proto__', 'id', 'type', 'role', 'tools', 'toString', 'x'),
  value: hostile,
})
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

type Container = Record<string, unknown> | unknown[]
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null

/** Changes a copy of a request's body. */
function changed(body: object, changes: readonly Change[]): unknown {
  const root = { body: structuredClone(body) as unknown }
  for (const { at, how, name, value: given } of changes) {
    // A later change may reach into it.
    const value = structuredClone(given)
    const places: { readonly of: Container; readonly key: string }[] = []
    const visit = (of: Container): void => {
      for (const [key, inner] of Object.entries(of)) {
        places.push({ of, key })
        // Values that were put there are deep.
        if (isContainer(inner) && places.length < 200) visit(inner)
      }
    }
    visit(root)
    const place = places[at % places.length]
    if (!place) continue
    const { of, key } = place
    const inner: unknown = Reflect.get(of, key)
    if (how === 'replace') Reflect.set(of, key, value)
    else if (how === 'remove') Reflect.deleteProperty(of, key)
    else if (how === 'repeat') Reflect.set(of, key, [inner, inner])
    else if (isContainer(inner))
      Object.defineProperty(inner, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return root.body
}

/** Damages a text: cuts a part out, and puts another one there. */
const damage = fc.record({
  at: fc.nat(400),
  drop: fc.nat(20),
  put: fc.constantFrom('', '\u0000', '"', '}', '\\u', '[{', '\uFFFE'),
})

const request = fc.record({
  seed: fc.constantFrom(...seeds),
  changes: fc.array(change, { maxLength: 3 }),
  damage: fc.option(damage, { freq: 5 }),
  type: fc.constantFrom(
    'application/json',
    'application/json',
    'application/json; charset=utf-16',
    'text/plain',
    'multipart/form-data',
  ),
  query: fc.constantFrom('', '', '?limit=-1', '?after=%00&limit=1e9', '?follow=0&x[]=1'),
  idempotencyKey: fc.option(fc.constantFrom('k', 'x'.repeat(300), ' '), { freq: 3 }),
})

/** Returns a server with a session that waits, and its names in place of those of the seeds. */
async function waitingServer(): Promise<{ readonly server: Server; readonly named: (text: string) => string }> {
  const store = memoryStore()
  const model = scriptedModel(
    [
      ({ messages }) =>
        JSON.stringify(messages.at(-1)?.content).includes('Refund')
          ? { toolCalls: [{ name: 'refund', input: { amount: 80 } }] }
          : { text: 'Hello.' },
    ],
    { after: 'repeat-last' },
  )
  const server = serverOf([], {
    agents: [createAgent({ name: 'desk', model, tools: [refund], store })],
    store,
    limits: { requestsPerMinute: 1_000_000, runs: 1_000_000, connections: 1_000_000 },
    operator: () => true,
    onError: () => {},
  })
  onTestFinished(() => server.close({ graceMs: 0 }))
  const { id, last } = await executed(server, { input: 'Refund.' })
  const wait = last.pending.approvals[0]?.id ?? ''
  return { server, named: (text) => text.replaceAll('SESSION', id).replaceAll('WAIT', wait) }
}

test('the requests that are damaged next are valid', async () => {
  const refused: unknown[] = []
  for (const { method, path, body, headers } of seeds) {
    const { server, named } = await waitingServer()
    const text = body && named(JSON.stringify(body))
    const response = await ask(server, named(path), {
      method,
      ...(text && { body: text }),
      ...(headers && { headers }),
    })
    const said = await response.text()
    // No call of the session waits for a result.
    if (path.endsWith('/tool-results') && said.includes('unknown-wait')) continue
    if (response.status >= 300 || said.includes('"error":{')) refused.push([path, response.status, said])
  }
  expect(refused).toEqual([])
})

test('damaged requests of every protocol get an answer that ends, none of them a 5xx', async () => {
  const { server, named } = await waitingServer()
  const statuses = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(request, async ({ seed, changes, damage: cut, type, query, idempotencyKey }) => {
      const { method, path, body, headers } = seed
      let text = body && named(JSON.stringify(changed(body, changes)) ?? '')
      if (text !== undefined && cut) text = text.slice(0, cut.at) + cut.put + text.slice(cut.at + cut.drop)
      const response = await ask(server, named(path.includes('?') ? path : path + query), {
        method,
        headers: {
          ...headers,
          'content-type': type,
          ...(idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
        },
        ...(text !== undefined && { body: text }),
      })
      const said = await response.text()
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      expect({ path, text, said, is5xx: response.status >= 500 }).toEqual({ path, text, said, is5xx: false })
    }),
    { numRuns: full ? 5_000 : 60 },
  )
  // The damage reaches the code behind the first check of the body.
  expect(statuses.get(200)).toBeGreaterThan(0)
  expect(statuses.get(400)).toBeGreaterThan(0)
  expect((await ask(server, '/health')).status).toBe(200)
})

/** Sends bytes to a port, and ends the connection. Returns what came until the server ended it, too. */
function exchange(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => (said += text))
    // A reset is an answer.
    socket.on('error', () => {})
    socket.on('close', () => resolve(said))
  })
}

test('damaged bytes on a connection get an answer or an end, and the next request is served', async () => {
  const { server } = await waitingServer()
  const listening = await serve(server, { port: 0 })
  onTestFinished(() => listening.close({ graceMs: 0 }))
  const port = Number(new URL(listening.url).port)
  const body = JSON.stringify({ input: 'Hi.' })
  const head = `POST /api/agent/execute HTTP/1.1\r\nhost: localhost:${port}\r\nauthorization: Bearer ann\r\ncontent-type: application/json\r\n`
  const whole = [
    `${head}content-length: ${body.length}\r\n\r\n${body}`,
    `${head}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    `GET /health HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`.repeat(2),
  ]
  const piece = fc.record({
    at: fc.nat(260),
    drop: fc.nat(8),
    put: fc.oneof(
      fc.constantFrom(
        '\r\n',
        '\n',
        '\0',
        ' ',
        ':',
        'content-length: 5\r\n',
        'transfer-encoding: chunked\r\n',
        '-1',
        'ffffffffffffffff',
      ),
      fc.string({ maxLength: 4 }),
    ),
  })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...whole), fc.array(piece, { maxLength: 3 }), async (sent, pieces) => {
      const text = pieces.reduce(
        (before, { at, drop, put }) => before.slice(0, at) + put + before.slice(at + drop),
        sent,
      )
      const said = await exchange(port, Buffer.from(text, 'latin1'))
      expect({ text, said, is5xx: /^HTTP\/1\.1 5/mu.test(said) }).toEqual({ text, said, is5xx: false })
    }),
    { numRuns: full ? 1_000 : 20 },
  )
  expect((await fetch(`${listening.url}/health`)).status).toBe(200)
})
