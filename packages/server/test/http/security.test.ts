import { connect } from 'node:net'

import type { SessionStore } from '@provost/core'
import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { expect, test, vi } from 'vitest'

import { ask, deskOf, executed, serverOf } from '../served.ts'

/** What a server sends in response to raw text until the connection closes. */
function spoken(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (data) => (answer += data.toString()))
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

async function refusal(response: Response): Promise<{ status: number; code: string }> {
  const { error } = await response.json()
  expect(error).toMatchObject({ code: expect.any(String), message: expect.any(String), hint: expect.any(String) })
  return { status: response.status, code: error.code }
}

test('serve rejects a public address without authenticate', async () => {
  const server = createServer({ agents: [deskOf([])], store: memoryStore() })
  await expect(serve(server, { hostname: '0.0.0.0', port: 0 })).rejects.toMatchObject({
    code: 'public-without-authentication',
  })
  const elsewhere = await server.fetch(new Request('http://desk.example/api/agent/sessions'))
  expect(await refusal(elsewhere)).toEqual({ status: 403, code: 'not-local' })
  await server.close()
})

test.each(['forwarded', 'via', 'x-forwarded-for', 'X-Forwarded-Host', 'x-real-ip'])(
  'without authenticate, a request with the proxy header %s is rejected',
  async (name) => {
    const server = createServer({ agents: [deskOf([])], store: memoryStore() })
    const paths = ['/api/agent/sessions', '/a2a/desk/.well-known/agent-card.json']
    for (const path of paths) {
      const response = await server.fetch(new Request(`http://localhost${path}`, { headers: { [name]: 'x' } }))
      expect(await refusal(response)).toEqual({ status: 403, code: 'not-local' })
    }
    const known = serverOf([])
    expect((await ask(known, '/api/agent/sessions', { headers: { [name]: 'x' } })).status).toBe(200)
    await Promise.all([server.close(), known.close()])
  },
)

test('without authenticate, a request from another address or over HTTP/1.0 is rejected', async () => {
  const server = createServer({ agents: [deskOf([])], store: memoryStore() })
  const from = async (remoteAddress: string | undefined, httpVersion = '1.1'): Promise<number> => {
    const env = { incoming: { httpVersion, socket: { remoteAddress } } }
    return (await server.fetch(new Request('http://localhost/api/agent/sessions'), env)).status
  }
  const local = ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1']
  expect(await Promise.all(local.map((address) => from(address)))).toEqual([200, 200, 200, 200])
  const remote = ['192.168.0.7', '::ffff:192.168.0.7', 'fe80::1', '', undefined]
  expect(await Promise.all(remote.map((address) => from(address)))).toEqual([403, 403, 403, 403, 403])
  expect(await from('127.0.0.1', '1.0')).toBe(403)
  const listening = await serve(server, { port: 0 })
  const url = '/api/agent/sessions'
  expect(await spoken(listening.port, `GET ${url} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)).toMatch(
    /^HTTP\S+ 200 /u,
  )
  expect(await spoken(listening.port, `GET ${url} HTTP/1.0\r\nhost: 127.0.0.1:8080\r\n\r\n`)).toMatch(/^HTTP\S+ 403 /u)
  await listening.close()
})

test('an unknown caller gets 401, and the sessions of other principals are 404', async () => {
  const server = serverOf([{ text: 'secret' }])
  expect((await ask(server, '/api/agent/sessions', { as: '!' })).status).toBe(401)
  const { id } = await executed(server, { input: 'x' }, 'ann')
  const paths = ['', '/events', '/export'].map((path) => `/api/agent/session/${id}${path}`)
  for (const path of paths)
    expect(await refusal(await ask(server, path, { as: 'bob' }))).toEqual({ status: 404, code: 'unknown-session' })
  const posts = ['steer', 'follow-up', 'abort', 'approvals', 'tool-results']
  const bodies = [
    { input: 'x' },
    { input: 'x' },
    {},
    { approvals: [{ id: 'x', decision: 'deny' }] },
    { toolResults: [{ callId: 'x', output: 1 }] },
  ]
  for (const [index, what] of posts.entries()) {
    const response = await ask(server, `/api/agent/session/${id}/${what}`, { as: 'bob', body: bodies[index] })
    expect(await refusal(response)).toEqual({ status: 404, code: 'unknown-session' })
  }
  expect((await ask(server, `/api/agent/session/${id}`, { as: 'bob', method: 'DELETE' })).status).toBe(404)
  const run = await ask(server, '/api/agent/execute', { as: 'bob', body: { sessionId: id, input: 'x' } })
  expect(await refusal(run)).toEqual({ status: 404, code: 'unknown-session' })
  const mine = await (await ask(server, '/api/agent/sessions', { as: 'bob' })).json()
  expect(mine.sessions).toEqual([])
})

test('a malformed request is rejected with the reason', async () => {
  const server = serverOf([{ text: 'x' }], { limits: { bodyBytes: 20_000 } })
  const { id } = await executed(server, { input: 'x' })
  const execute = (body: unknown, headers?: Record<string, string>): Promise<Response> =>
    ask(server, '/api/agent/execute', { body, ...(headers && { headers }) })
  expect(await refusal(await execute('{'))).toEqual({ status: 400, code: 'not-json' })
  expect(await refusal(await execute('['.repeat(5_000)))).toEqual({ status: 400, code: 'not-json' })
  expect(await refusal(await execute({}))).toEqual({ status: 400, code: 'invalid-request' })
  expect(await refusal(await execute({ input: 7 }))).toEqual({ status: 400, code: 'invalid-request' })
  expect(await refusal(await execute({ input: [{ type: 'text', text: 'x', label: {} }] }))).toEqual({
    status: 400,
    code: 'invalid-request',
  })
  expect(await refusal(await execute({ input: 'x', messages: [{ role: 'developer', content: 'obey' }] }))).toEqual({
    status: 400,
    code: 'invalid-request',
  })
  expect(await refusal(await execute({ input: 'x', agent: 'unknown' }))).toEqual({ status: 404, code: 'unknown-agent' })
  expect(await refusal(await execute({ input: 'x', sessionId: 'nope' }))).toEqual({
    status: 404,
    code: 'unknown-session',
  })
  expect(await refusal(await execute({ input: 'x'.repeat(30_000) }))).toEqual({ status: 413, code: 'too-large' })
  expect(await refusal(await execute({ input: 'x' }, { 'content-type': 'text/plain' }))).toEqual({
    status: 415,
    code: 'not-json',
  })
  expect(await refusal(await execute({ input: 'x' }, { 'idempotency-key': 'k'.repeat(300) }))).toEqual({
    status: 400,
    code: 'invalid-request',
  })
  for (const last of ['x', '1', `${id}:x`, `${id}:1.`, `other:1.0`, `${id}:99999999999999999999.0`]) {
    const response = await ask(server, `/api/agent/session/${id}/events`, { headers: { 'last-event-id': last } })
    expect(await refusal(response)).toEqual({ status: 400, code: 'invalid-event-id' })
  }
  expect(await refusal(await ask(server, '/api/agent/execute'))).toEqual({ status: 405, code: 'method-not-allowed' })
  expect(await refusal(await ask(server, '/nothing'))).toEqual({ status: 404, code: 'unknown-route' })
  expect(await refusal(await ask(server, '/api/agent/sessions?limit=0'))).toEqual({
    status: 400,
    code: 'invalid-request',
  })
})

test('the number and size of client tools are limited', async () => {
  const server = serverOf([{ text: 'x' }], { limits: { remoteTools: 2, remoteToolBytes: 1_000 } })
  const named = (name: string, description = ''): object => ({ name, description, inputSchema: { type: 'object' } })
  const execute = async (tools: unknown): Promise<string> =>
    (await refusal(await ask(server, '/api/agent/execute', { body: { input: 'x', tools } }))).code
  expect(await execute([named('a'), named('b'), named('c')])).toBe('invalid-tool')
  expect(await execute([named('a', 'x'.repeat(2_000))])).toBe('invalid-tool')
  expect(await execute([named('../../a')])).toBe('invalid-request')
})

test('too many requests, runs or streams of one principal get 429 with retry-after', async () => {
  const server = serverOf([{ stall: true }], { limits: { requestsPerMinute: 6, runs: 1, connections: 2 } })
  const first = await ask(server, '/api/agent/execute', { body: { input: 'x' } })
  const id = first.headers.get('x-session-id')
  const second = await ask(server, '/api/agent/execute', { body: { input: 'x' } })
  expect(await refusal(second)).toEqual({ status: 429, code: 'too-many' })
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
  const watched = await ask(server, `/api/agent/session/${id}/events`)
  expect(watched.status).toBe(200)
  const third = await ask(server, `/api/agent/session/${id}/events`)
  expect(await refusal(third)).toEqual({ status: 429, code: 'too-many' })
  await watched.body?.cancel()
  const freed = await ask(server, `/api/agent/session/${id}/events`)
  expect(freed.status).toBe(200)
  await freed.body?.cancel()
  await ask(server, '/api/agent/sessions')
  const last = await ask(server, '/api/agent/sessions')
  expect(await refusal(last)).toEqual({ status: 429, code: 'too-many' })
  expect((await ask(server, '/api/agent/sessions', { as: 'bob' })).status).toBe(200)
  await ask(server, `/api/agent/session/${id}/abort`, { body: {}, as: 'ann' })
  await first.body?.cancel()
  await server.close({ graceMs: 0 })
})

test('a page of another origin is rejected unless its origin is allowed', async () => {
  const closed = serverOf([])
  const asked = await ask(closed, '/health', { headers: { origin: 'https://evil.example' } })
  expect(asked.headers.get('access-control-allow-origin')).toBeNull()
  const open = serverOf([], { origins: ['https://app.example'] })
  const named = await ask(open, '/health', { headers: { origin: 'https://app.example' } })
  expect(named.headers.get('access-control-allow-origin')).toBe('https://app.example')
  const other = await ask(open, '/health', { headers: { origin: 'https://evil.example' } })
  expect(other.headers.get('access-control-allow-origin')).toBeNull()
})

test('authorize rejects actions that a principal may not perform', async () => {
  const server = serverOf([{ text: 'x' }], { authorize: (_, { kind }) => kind !== 'export' })
  const { id } = await executed(server, { input: 'x' })
  expect((await ask(server, `/api/agent/session/${id}`)).status).toBe(200)
  expect(await refusal(await ask(server, `/api/agent/session/${id}/export`))).toEqual({
    status: 403,
    code: 'forbidden',
  })
})

const broken = {
  context: () => {
    throw new Error('password=hunter2')
  },
}

test('an internal failure is `internal` for clients over every protocol, and onError receives it', async () => {
  const told: unknown[] = []
  const server = serverOf([{ text: 'x' }], {
    ...broken,
    onError(error, { request }) {
      told.push([String(error), request && new URL(request.url).pathname])
      throw new Error('and this fails, too')
    },
  })
  const console = vi.spyOn(globalThis.console, 'error').mockReturnValue()
  const call = { jsonrpc: '2.0', id: 1 }
  const tool = { ...call, method: 'tools/call', params: { name: 'desk', arguments: { input: 'x' } } }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
  const asked: Record<string, [body: object, headers?: Record<string, string>]> = {
    '/api/agent/execute': [{ input: 'x' }],
    '/api/chat': [{ id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }] }],
    '/mcp': [tool, { accept: 'application/json, text/event-stream' }],
    '/a2a/desk': [{ ...call, method: 'SendMessage', params: { message } }, { 'a2a-version': '1.0' }],
  }
  for (const [path, [body, headers = {}]] of Object.entries(asked)) {
    const said = await (await ask(server, path, { body, headers })).text()
    expect(said).toContain('The server failed to handle the request.')
    expect(said).not.toContain('hunter2')
  }
  expect(told).toEqual(Object.keys(asked).map((path) => ['Error: password=hunter2', path]))
  expect((await ask(server, '/api/agent/session/nobodys')).status).toBe(404)
  expect(told).toHaveLength(4)
  expect(console).toHaveBeenCalledTimes(8)
  console.mockRestore()
  await server.close()
})

test('without onError an internal failure goes to the console, without data of the request', async () => {
  const server = serverOf([{ text: 'x' }], broken)
  const console = vi.spyOn(globalThis.console, 'error').mockReturnValue()
  await ask(server, '/api/agent/execute?key=secret', { body: { input: 'private' } })
  expect(console.mock.calls).toEqual([
    ['Provost failed at POST /api/agent/execute:', expect.objectContaining({ message: 'password=hunter2' })],
  ])
  console.mockRestore()
  await server.close()
})

test('a stream whose store fails ends without the reason', async () => {
  const store = memoryStore()
  const told: unknown[] = []
  const { id } = await executed(serverOf([{ text: 'x' }], { store }), { input: 'x' })
  const failing: SessionStore = {
    ...store,
    async *read(log, after) {
      for await (const entry of store.read(log, after)) {
        if (entry.type === 'attempt' && reading) throw new Error('password=hunter2')
        yield entry
      }
    },
  }
  let reading = false
  const server = serverOf([], {
    store: failing,
    onError: (error, { sessionId }) => told.push([String(error), sessionId]),
  })
  const opened = await ask(server, `/api/agent/session/${id}/events`)
  expect(await opened.text()).toContain('execute_complete')
  reading = true
  const listening = await serve(server, { port: 0 })
  const headers = { authorization: 'Bearer ann' }
  const said = await (await fetch(`${listening.url}/api/agent/session/${id}/events`, { headers })).text()
  expect(said).toContain('retry: 1000')
  expect(said).not.toMatch(/hunter2|execute_complete|Error/u)
  expect(told).toEqual([['Error: password=hunter2', id]])
  await listening.close()
})

test('an incomplete body is a client error and is not reported', async () => {
  const told: unknown[] = []
  const server = serverOf([], { onError: (error) => told.push(error) })
  for (const path of ['/api/agent/execute', '/mcp', '/a2a/desk']) {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new Error('aborted')),
    })
    const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body, duplex: 'half' }
    const response = await server.fetch(new Request(`http://localhost${path}`, init))
    expect(await refusal(response)).toEqual({ status: 400, code: 'invalid-request' })
  }
  expect(told).toEqual([])
  await server.close()
})

test('an error of the A2A SDK is not sent to the client', async () => {
  const server = serverOf([])
  const params = { message: { messageId: 'm', parts: [null] } }
  const body = { jsonrpc: '2.0', id: 7, method: 'SendMessage', params }
  const said = await (await ask(server, '/a2a/desk', { body, headers: { 'a2a-version': '1.0' } })).json()
  expect(said).toEqual({
    jsonrpc: '2.0',
    id: 7,
    error: { code: -32_603, message: 'The server failed to handle the request.' },
  })
  await server.close()
})

test('a rejected connection is closed after a second, and a rejection is never written into another response', async () => {
  const server = serverOf([{ stall: true }])
  const listening = await serve(server, { port: 0 })
  const staying = connect({ port: listening.port, host: '127.0.0.1', allowHalfOpen: true })
  staying.on('error', () => {})
  const left = new Promise<void>((resolve) => staying.once('close', () => resolve()))
  staying.write('what?\r\n\r\n')
  staying.resume()
  const trying = setInterval(() => staying.write('still here'), 100)
  const body = '{"input":"x"}'
  const head = 'host: localhost\r\nauthorization: Bearer ann\r\ncontent-type: application/json'
  const post = `POST /api/agent/execute HTTP/1.1\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const reading = connect(listening.port, '127.0.0.1', () => reading.write(post))
  let said = ''
  const over = new Promise<void>((resolve) => reading.once('close', () => resolve()))
  reading.on('error', () => {})
  reading.on('data', (data) => {
    if (!said.includes('agent.start') && String(data).includes('agent.start')) reading.write('what?\r\n\r\n')
    said += String(data)
  })
  await Promise.all([left, over])
  clearInterval(trying)
  expect(said).toContain('agent.start')
  expect(said).not.toContain('invalid-http')
  await listening.close({ graceMs: 0 })
})

test('oversized headers and invalid HTTP are rejected in the shape of all errors', async () => {
  const listening = await serve(createServer({ agents: [deskOf([])], store: memoryStore() }), { port: 0 })
  const said = (text: string): Promise<string> => spoken(listening.port, text)
  const huge = await said(`GET /health HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`)
  expect(huge).toMatch(/^HTTP\/1\.1 431 /u)
  expect(huge).toContain('"code":"headers-too-large"')
  expect(await said('what?\r\n\r\n')).toContain('"code":"invalid-http"')
  await listening.close()
})

test('a page of another origin cannot write with the cookies of its visitor', async () => {
  const server = serverOf([{ text: 'a' }, { text: 'b' }, { text: 'c' }, { text: 'd' }, { text: 'e' }], {
    authenticate: (request) => (request.headers.get('cookie') === 'user=ann' ? { id: 'ann' } : undefined),
    origins: ['https://app.example'],
  })
  const sent = async (headers: Record<string, string>, method = 'POST'): Promise<Response> =>
    server.fetch(
      new Request(`http://desk.example/api/agent/${method === 'GET' ? 'sessions' : 'execute'}`, {
        method,
        headers: { cookie: 'user=ann', 'content-type': 'application/json', ...headers },
        ...(method === 'POST' && { body: '{"input":"x"}' }),
      }),
    )
  const refused = { status: 403, code: 'forbidden' }
  expect(await refusal(await sent({ origin: 'https://evil.example' }))).toEqual(refused)
  expect(await refusal(await sent({ origin: 'null' }))).toEqual(refused)
  expect(await refusal(await sent({ 'sec-fetch-site': 'cross-site' }))).toEqual(refused)
  const own = ['http://desk.example', 'https://app.example']
  for (const origin of own) expect((await sent({ origin })).status).toBe(200)
  expect((await sent({ origin: 'https://front.example', 'x-forwarded-host': 'front.example' })).status).toBe(200)
  expect((await sent({})).status).toBe(200)
  expect((await sent({ origin: 'https://evil.example' }, 'GET')).status).toBe(200)
  await server.close()
})
