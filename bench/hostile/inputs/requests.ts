import type { Conversation, HostileRequest } from '../doors/http.ts'
import { httpDoor } from '../doors/http.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { fill, many, mb, nested, noise, salla, wide } from '../text.ts'

const run = '/api/agent/execute'
const one = (request: HostileRequest): Conversation => ({ requests: [request] })
const body = (value: unknown): Conversation => one({ path: run, body: value })
const said = (text: string): Conversation => body({ input: text })
const large = mb - 100
const begin: HostileRequest = { path: run, body: { input: 'Hello.' } }
const then = (request: HostileRequest): Conversation => ({ requests: [begin, request] })
const base64 = (data: string, mediaType = 'image/png'): Conversation =>
  body({ input: [{ type: 'file', mediaType, data: { type: 'data', data } }] })

const bodies: Rows<Conversation> = {
  'no JSON': [() => one({ path: run, body: fill('{') }), '400 not-json'],
  'arrays nested a million deep': [() => one({ path: run, body: fill('[') }), '400 not-json'],
  'objects nested 100,000 deep': [() => one({ path: run, body: nested(100_000, '{"a":', '}', '1') }), '400 not-json'],
  'escapes before an unclosed text': [
    () => one({ path: run, body: `{"input":"${fill('\\\\', large)}` }),
    '400 not-json',
  ],
  'a number of 1 MB': [() => one({ path: run, body: `{"input":${fill('9', large)}}` }), '400 invalid-request'],
  'an exponent of 1 MB': [() => one({ path: run, body: `{"input":1e${fill('9', large)}}` }), '400 invalid-request'],
  'keys that are unknown, 75,000 of them': [() => body({ input: 'x', ...wide(75_000) }), '400 invalid-request'],
  '__proto__ as a key': [
    () => one({ path: run, body: '{"input":"x","__proto__":{"agent":"y"}}' }),
    '400 invalid-request',
    '200 completed',
  ],
  'constructor as a key': [
    () => one({ path: run, body: '{"input":"x","constructor":{"prototype":{}}}' }),
    '400 invalid-request',
  ],
  'more bytes than fit': [() => body({ input: fill('x', mb + 10) }), '413 too-large'],
  'more bytes than fit, in pieces': [
    () => one({ path: run, chunks: many(80, () => fill('x', 20_000)) }),
    '413 too-large',
  ],
  'pieces of one byte, 20,000 of them': [() => one({ path: run, chunks: many(20_000, () => ' ') }), '400 not-json'],
  'half of a letter': [() => one({ path: run, body: '{"input":"\\ud800"}' }), '200 completed', '400 invalid-request'],
  null: [() => one({ path: run, body: 'null' }), '400 invalid-request'],
  'a list': [() => one({ path: run, body: '[]' }), '400 invalid-request'],
  'nothing at all': [() => one({ path: run, body: '' }), '400 not-json'],
  'a text with a label': [
    () => body({ input: [{ type: 'text', text: 'x', label: { integrity: 'trusted' } }] }),
    '400 invalid-request',
  ],
  'parts, 10,000 of them': [
    () => body({ input: many(10_000, () => ({ type: 'text', text: 'x' })) }),
    '400 invalid-request',
  ],
  'steps without end': [() => body({ input: 'x', options: { maxSteps: 1e9 } }), '400 invalid-request'],
}

const texts: Rows<Conversation> = {
  'U+FDFA, 349,000 of it': [() => said(fill(salla, large / 3)), '200 completed', '400 *', '413 *', '200 failed *'],
  'percent signs': [() => said(fill('%25', large)), '200 completed'],
  'base64 of base64': [() => said(fill(Buffer.from(fill('QUFB', 3_000)).toString('base64'), large)), '200 completed'],
  'one letter': [() => said(fill('a', large)), '200 completed'],
  'combining marks': [() => said(fill('e\u0301\u0323', large / 2.5)), '200 completed'],
  'marks of chat templates': [() => said(fill('<|im_start|>system [INST]', large)), '200 completed'],
  'control characters': [() => said(fill('\u001b[31m', large / 8)), '200 completed'],
  'zero-width letters': [() => said(fill('\u200b\u200d', large / 3)), '200 completed'],
  'addresses, 60,000 of them': [() => said(fill('a@example.com, ', large)), '200 completed'],
  'urls, 40,000 of them': [() => said(fill('https://example.com/%2e%2e/ ', large)), '200 completed'],
  brackets: [() => said(fill('{[(<', large)), '200 completed'],
  'words of no sense': [() => said(noise(large)), '200 completed'],
}

const files: Rows<Conversation> = {
  'base64 of the wrong length': [() => base64('A'), '400 invalid-request'],
  'base64 with other letters': [() => base64(fill('A*', 1_000)), '400 invalid-request'],
  'base64 with spaces': [() => base64('AAAA AAAA'), '400 invalid-request', '200 completed'],
  'base64 with too much padding': [() => base64('AAAA===='), '400 invalid-request'],
  'base64 of 1 MB': [() => base64(fill('A', 4 * Math.floor((large - 200) / 4))), '200 completed'],
  'base64 of 1 MB, the last letter wrong': [() => base64(`${fill('A', 4 * 260_000)}AAA*`), '400 invalid-request'],
  'a url of a file': [
    () => body({ input: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'file:///etc/passwd' } }] }),
    '400 invalid-request',
  ],
  'a url of 1 MB': [
    () =>
      body({
        input: [
          { type: 'file', mediaType: 'image/png', data: { type: 'url', url: `https://x/${fill('a', large - 300)}` } },
        ],
      }),
    '200 completed',
    '400 invalid-request',
    '200 failed *',
  ],
  'a media type of 1 MB': [() => base64('AAAA', fill('a/', large - 300)), '400 invalid-request'],
  'a media type with a line break': [() => base64('AAAA', 'image/png\r\nx: y'), '400 invalid-request', '200 completed'],
}

const headers: Rows<Conversation> = {
  'an idempotency key of 100,000': [
    () => one({ path: run, body: { input: 'x' }, headers: { 'idempotency-key': fill('k', 100_000) } }),
    '400 invalid-request',
  ],
  'an idempotency key that is empty': [
    () => one({ path: run, body: { input: 'x' }, headers: { 'idempotency-key': '' } }),
    '400 invalid-request',
  ],
  'the same idempotency key for other words': [
    () => ({
      requests: many(2, (n) => ({ path: run, body: { input: `words ${n}` }, headers: { 'idempotency-key': 'same' } })),
    }),
    '422 *',
  ],
  'a media type of 100,000': [
    () => one({ path: run, body: '{}', headers: { 'content-type': fill('application/json;', 100_000) } }),
    '400 invalid-request',
    '415 not-json',
  ],
  'no JSON type': [() => one({ path: run, body: '{}', headers: { 'content-type': 'text/plain' } }), '415 not-json'],
  'a length that lies': [
    () => one({ path: run, body: '{}', headers: { 'content-length': '99999999999999999999' } }),
    '413 too-large',
    '400 invalid-request',
  ],
  'a length that is no number': [
    () => one({ path: run, body: '{}', headers: { 'content-length': '1e309x' } }),
    '400 invalid-request',
    '413 too-large',
  ],
  'credentials of 100,000': [
    () => one({ path: run, body: '{}', headers: { authorization: `Bearer ${fill('a', 100_000)}` } }),
    '401 unauthenticated',
  ],
  'a last event of 100,000': [
    () => then({ path: '/api/agent/session/{id}/events', headers: { 'last-event-id': fill('a ', 100_000) } }),
    '400 invalid-event-id',
  ],
  'a last event of many children': [
    () =>
      then({
        path: '/api/agent/session/{id}/events',
        headers: { 'last-event-id': `{id}:1.0${fill(' 0123456789ab=1.0', 9_000)}` },
      }),
    '400 invalid-event-id',
    '200 completed',
  ],
  'a last event that is far away': [
    () => then({ path: '/api/agent/session/{id}/events', headers: { 'last-event-id': '{id}:999999999999999.9' } }),
    '200 completed',
    '400 invalid-event-id',
    '200 idle',
  ],
  'a last event below nothing': [
    () => then({ path: '/api/agent/session/{id}/events', headers: { 'last-event-id': '{id}:-1.-1' } }),
    '400 invalid-event-id',
  ],
}

const paths: Rows<Conversation> = {
  'a session of 100,000 letters': [
    () => one({ path: `/api/agent/session/${fill('a', 100_000)}` }),
    '404 unknown-session',
    '400 *',
  ],
  'a session outside of the folder': [
    () => one({ path: '/api/agent/session/..%2f..%2fetc%2fpasswd' }),
    '404 unknown-session',
    '400 *',
  ],
  'a session with a null character': [() => one({ path: '/api/agent/session/a%00b' }), '404 unknown-session', '400 *'],
  'an escape that is none': [() => one({ path: '/api/agent/session/%E0%A4%A' }), '404 unknown-session', '400 *'],
  'slashes, 100,000 of them': [() => one({ path: fill('/', 100_000) }), '404 unknown-route'],
  'a path of 1 MB': [() => one({ path: `/api/${fill('a/', large)}` }), '404 unknown-route'],
  'a query of 1 MB': [() => one({ path: `/api/agent/sessions?${fill('a=1&', large)}` }), '200', '400 invalid-request'],
  'a query with the same key, 100,000 times': [
    () => one({ path: `/api/agent/sessions?${fill('limit=1&', 800_000)}` }),
    '200',
    '400 invalid-request',
  ],
  'a limit below nothing': [() => one({ path: '/api/agent/sessions?limit=-5' }), '400 invalid-request'],
  'a limit of 1e400': [() => one({ path: '/api/agent/sessions?limit=1e400' }), '400 invalid-request'],
  'a page behind what is not there': [
    () => one({ path: `/api/agent/sessions?after=${fill('z', 200)}` }),
    '200',
    '400 *',
  ],
  'a place behind of 1 MB': [
    () => then({ path: `/api/agent/session/{id}/events?after=${fill('a', large)}` }),
    '400 invalid-request',
    '400 invalid-event-id',
  ],
  'another way': [() => one({ method: 'DELETE', path: run }), '405 method-not-allowed'],
}

/** What clients send: bodies, texts, files, headers and paths. */
export const requests: readonly HostileInput[] = [
  ...hostileInputs('body', httpDoor, bodies, { stored: true }),
  ...hostileInputs('text', httpDoor, texts, { stored: true }),
  ...hostileInputs('file', httpDoor, files, { stored: true }),
  ...hostileInputs('header', httpDoor, headers, { stored: true }),
  ...hostileInputs('path', httpDoor, paths, { stored: true }),
]
