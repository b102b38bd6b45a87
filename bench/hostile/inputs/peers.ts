import type { Conversation, HostileRequest } from '../doors/http.ts'
import { httpDoor, socketDoor } from '../doors/http.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { fill, many, mb, nested, salla, wide } from '../text.ts'

const run = '/api/agent/execute'
const one = (request: HostileRequest): Conversation => ({ requests: [request] })

const peers: Rows<Conversation> = {
  'MCP: a batch of 5,000': [
    () =>
      one({
        path: '/mcp',
        headers: { accept: 'application/json, text/event-stream' },
        body: many(5_000, (n) => ({ jsonrpc: '2.0', id: n, method: 'tools/list' })),
      }),
    '400 *',
    '200 *',
    '413 *',
    '429 *',
  ],
  'MCP: nested 50,000 deep': [
    () =>
      one({
        path: '/mcp',
        headers: { accept: 'application/json, text/event-stream' },
        body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${nested(50_000, '{"a":', '}', '1')}}`,
      }),
    '400 *',
    '200 stream error',
  ],
  'MCP: arguments of 1 MB': [
    () =>
      one({
        path: '/mcp',
        headers: { accept: 'application/json, text/event-stream' },
        body: {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'probe', arguments: { input: fill(salla, 300_000) } },
        },
      }),
    '200 *',
    '400 *',
  ],
  'MCP: no method': [
    () =>
      one({
        path: '/mcp',
        headers: { accept: 'application/json, text/event-stream' },
        body: { jsonrpc: '2.0', id: wide(1_000) },
      }),
    '400 *',
  ],
  'A2A: no message': [
    () =>
      one({
        path: '/a2a/probe',
        headers: { 'a2a-version': '1.0' },
        body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: wide(10_000) },
      }),
    '200 *',
    '400 *',
  ],
  'A2A: parts, 10,000 of them': [
    () =>
      one({
        path: '/a2a/probe',
        headers: { 'a2a-version': '1.0' },
        body: {
          jsonrpc: '2.0',
          id: 1,
          method: 'SendMessage',
          params: { message: { messageId: 'm', role: 'ROLE_USER', parts: many(10_000, () => ({ text: 'x' })) } },
        },
      }),
    '200 *',
    '400 *',
  ],
  'A2A: a list with a broken page': [
    () =>
      one({
        path: '/a2a/probe',
        headers: { 'a2a-version': '1.0' },
        body: { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: { pageToken: fill('A', 100_000) } },
      }),
    '200 *',
    '400 *',
  ],
  'A2A: nested 50,000 deep': [
    () => one({ path: '/a2a/probe', headers: { 'a2a-version': '1.0' }, body: nested(50_000, '{"a":', '}', '1') }),
    '400 not-json',
  ],
}

const line = (name: string, value: string): string => `${name}: ${value}\r\n`
const request = (...lines: readonly string[]): string =>
  `POST ${run} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ann\r\nconnection: close\r\n${lines.join('')}\r\n`
const sockets: Rows<string> = {
  'a header of 1 MB': [() => request(line('x', fill('a', mb))), '431', 'cut'],
  'headers, 50,000 of them': [
    () => request(many(50_000, (n) => line(`x${n}`, '1')).join('')),
    '431',
    'cut',
    '400',
    '415',
  ],
  'a path of 1 MB': [() => `GET /${fill('a', mb)} HTTP/1.1\r\nhost: localhost\r\n\r\n`, '431', '414', 'cut'],
  'two lengths': [() => `${request(line('content-length', '4'), line('content-length', '400'))}{}`, '400'],
  'a length and pieces': [
    () => `${request(line('content-length', '4'), line('transfer-encoding', 'chunked'))}0\r\n\r\n`,
    '400',
  ],
  'a piece with an extension of 1 MB': [
    () =>
      `${request(line('content-type', 'application/json'), line('transfer-encoding', 'chunked'))}1;${fill('a', mb)}\r\n{\r\n0\r\n\r\n`,
    '400',
    '413',
    'cut',
  ],
  'a piece whose length is no number': [
    () => `${request(line('content-type', 'application/json'), line('transfer-encoding', 'chunked'))}zz\r\n`,
    '400',
  ],
  'a header that is folded': [() => request('x: a\r\n b: c\r\n'), '400', '415'],
  'another protocol': [() => fill('\u0016\u0003\u0001', 10_000), '400', 'cut'],
}

/** What other protocols send, and bytes on a socket. */
export const peerInputs: readonly HostileInput[] = [
  ...hostileInputs('peer', httpDoor, peers, { stored: true }),
  ...hostileInputs('socket', socketDoor, sockets),
]
