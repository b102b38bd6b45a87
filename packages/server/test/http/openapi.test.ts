import { Validator } from '@seriousme/openapi-schema-validator'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { ask, serverOf } from '../served.ts'

/** Any character. The fast-check units for it build a table of all characters, which takes a second. */
const character = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code))

/** Any query string. */
const query = fc.string({
  unit: fc.oneof(
    fc.constantFrom('a', 'Z', '0', '-', '.', '~', '!', '$', '&', '+', ',', ';', '=', ':', '@', '/', '?'),
    character.map(encodeURIComponent),
  ),
})

test('the OpenAPI description is valid and lists every route', async () => {
  const server = serverOf([])
  const described = await (await ask(server, '/openapi.json')).json()
  expect(await new Validator().validate(described)).toMatchObject({ valid: true })
  expect(Object.keys(described.paths)).toEqual(
    expect.arrayContaining(['/api/agent/session/{id}/events', '/api/chat', '/mcp', '/a2a/{agent}', '/ready']),
  )
})

/** Whether a response is a success or a complete error. */
function isFine(status: number, said: string, path: string): boolean {
  // Errors of JSON-RPC have another shape.
  if (status < 400 || path === '/mcp') return status < 500
  const { error } = JSON.parse(said)
  return status < 500 && typeof error.code === 'string' && typeof error.hint === 'string' && error.message !== ''
}

const runs = process.env['PROVOST_TEST_FULL'] === '1' ? 2_000 : 15

test('random requests to any route get no 5xx, and each error has the documented shape', async () => {
  const server = serverOf([{ text: 'x' }], {
    limits: { requestsPerMinute: 1_000_000, runs: 1_000_000, connections: 1_000_000 },
  })
  const { paths }: { paths: Record<string, Record<string, unknown>> } = await (
    await ask(server, '/openapi.json')
  ).json()
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ path, method })),
  )
  const text = fc.oneof(fc.string(), fc.string({ unit: character }), fc.constantFrom('..', '%00', 'x:1.0', '\u2028'))
  const field = fc.constantFrom(
    'input',
    'approvals',
    'toolResults',
    'messages',
    'tools',
    'options',
    'sessionId',
    'agent',
    'drain',
    'graceMs',
    'to',
    'id',
  )
  const body = fc.oneof(
    fc.json({ maxDepth: 3 }),
    text,
    fc.dictionary(field, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 }).map((value) => JSON.stringify(value)),
  )
  const header = fc
    .string({ unit: fc.constantFrom(...['a', 'Z', '9', ':', '.', '~', '-', ' ', '/']) })
    .map((value) => value.trim())
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...routes), text, body, header, query, async (route, id, sent, last, asked) => {
      const path = `${route.path.replace('{agent}', 'desk').replace('{id}', encodeURIComponent(id.toWellFormed()))}?${asked}`
      const response = await ask(server, path, {
        method: route.method.toUpperCase(),
        headers: { 'last-event-id': last, 'idempotency-key': last },
        ...(route.method === 'post' && { body: sent }),
      })
      const said = await response.text()
      expect({ said, fine: isFine(response.status, said, route.path) }).toEqual({ said, fine: true })
    }),
    { numRuns: runs },
  )
  await server.close({ graceMs: 0 })
})
