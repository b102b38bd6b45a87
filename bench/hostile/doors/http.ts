import { connect } from 'node:net'

import { createServer, serve } from '@provost/server'
import type { Server } from '@provost/server'
import type { SessionStore } from 'provost'
import type { ScriptedEntry } from 'provost/testing'

import { done, probeAgent } from '../agents.ts'
import type { Door } from '../input.ts'

/** One request. In `path`, `headers` and texts of `body`, `{id}` is the session of the first answer. */
export interface HostileRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** A text is sent as it is, anything else as JSON. */
  readonly body?: unknown
  /** Sent in pieces, without a length. */
  readonly chunks?: readonly string[]
}

/** Requests, one after the other, and what the model says meanwhile. */
export interface Conversation {
  readonly requests: readonly HostileRequest[]
  readonly steps?: readonly ScriptedEntry[]
}

const key = 'Bearer ann'

/** Who asks may approve: what is tried here is what a client sends. */
const approvals = { approvals: { by: 'requester' as const } }

/** The server that all requests meet: with `authenticate`, so that its principals are not `local`. */
export function probeServer(store: SessionStore, steps: readonly ScriptedEntry[] = [done]): Server {
  return createServer({
    agents: [probeAgent({ steps, store })],
    store,
    authenticate: (request) => {
      const id = /^Bearer (\w{1,20})$/u.exec(request.headers.get('authorization') ?? '')?.[1]
      return id === undefined ? undefined : { id }
    },
    ...approvals,
    limits: { requestsPerMinute: 100_000 },
    pollMs: 200,
    onError: () => {},
  })
}

/** Requests to `createServer().fetch`; the outcome is that of the last one: `400 invalid-request`, `200 completed`. */
export const httpDoor: Door<Conversation> = {
  name: 'createServer().fetch',
  benign: {
    requests: [
      { path: '/api/agent/execute', body: { input: 'Hello.' } },
      { path: '/api/chat', body: { id: 'x', messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }] } },
      { path: '/mcp', body: {}, headers: { accept: 'application/json, text/event-stream' } },
      { path: '/a2a/probe', body: {} },
      { method: 'GET', path: '/api/agent/session/{id}' },
    ],
  },
  async pass({ requests, steps }, { store }) {
    const server = probeServer(store, steps)
    try {
      let id = ''
      let outcome = ''
      for (const request of requests) {
        const response = await server.fetch(requestOf(request, id))
        id ||= response.headers.get('x-session-id') ?? ''
        outcome = await outcomeOf(response)
      }
      return outcome
    } finally {
      await server.close({ graceMs: 0 })
    }
  },
}

function requestOf({ method, path, headers = {}, body, chunks }: HostileRequest, id: string): Request {
  const has = body !== undefined || chunks !== undefined
  const inHeaders = Object.entries(headers).map(([name, value]): [string, string] => [name, value.replace('{id}', id)])
  return new Request(`http://localhost${path.replace('{id}', id)}`, {
    method: method ?? (has ? 'POST' : 'GET'),
    headers: {
      authorization: key,
      ...(has && { 'content-type': 'application/json' }),
      ...Object.fromEntries(inHeaders),
    },
    ...(body !== undefined && { body: (typeof body === 'string' ? body : JSON.stringify(body)).replace('{id}', id) }),
    ...(chunks && { body: piecesOf(chunks) }),
    ...(chunks && { duplex: 'half' as const }),
  })
}

function piecesOf(chunks: readonly string[]): ReadableStream<Uint8Array> {
  const left = chunks.values()
  return new ReadableStream({
    pull(control) {
      const next = left.next()
      if (next.done) control.close()
      else control.enqueue(new TextEncoder().encode(next.value))
    },
  })
}

async function outcomeOf(response: Response): Promise<string> {
  const text = await response.text()
  const { status } = response
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const code = /"code":\s*("[\w-]{1,60}"|-?\d+)/u.exec(text.slice(0, 2_000))?.[1]
    return code === undefined ? `${status}` : `${status} ${code.replaceAll('"', '')}`
  }
  const end = text.lastIndexOf('event: execute_complete')
  if (end < 0)
    return /"type":"error"|"error":/u.test(text.slice(-4_000)) ? `${status} stream error` : `${status} stream`
  const [, run] = /"status":"(\w+)"/u.exec(text.slice(end)) ?? []
  const [, code] = run === 'failed' ? (/"error":\{"code":"([\w-]+)"/u.exec(text.slice(end)) ?? []) : []
  return `${status} ${run}${code === undefined ? '' : ` ${code}`}`
}

/** Bytes on a socket of a server that listens; the outcome is the status line, or `cut`. */
export const socketDoor: Door<string> = {
  name: 'serve()',
  benign: 'GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
  async pass(text, { store }) {
    const listening = await serve(probeServer(store), { port: 0 })
    try {
      return await new Promise((resolve) => {
        let answer = ''
        const over = (): void => resolve(/^HTTP\/1\.1 (\d{3})/u.exec(answer)?.[1] ?? 'cut')
        const socket = connect(listening.port, '127.0.0.1', () => socket.write(text))
        socket.setTimeout(2_000, () => socket.destroy())
        socket.on('data', (data) => {
          if (answer.length < 100) answer += data.toString('latin1')
        })
        socket.on('error', () => {})
        socket.on('close', over)
      })
    } finally {
      await listening.close({ graceMs: 0 })
    }
  },
}
