import { argsByRole, escapePointer, isCallTo, trustedLabel } from '@provost/core'
import type { ArgRole, Json, JsonPointer, Tool, ToolCall } from '@provost/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

function callOf(roles: Readonly<Record<JsonPointer, ArgRole>>, input: Json): ToolCall {
  const tool = {
    name: 'send',
    effect: 'egress',
    roles,
    inputSchema: {},
    idempotent: false,
    remote: false,
    composite: false,
    deferred: false,
  } as const
  return { callId: 'c', tool, input, label: trustedLabel }
}

describe('argsByRole', () => {
  const roles = { '/to': 'destination', '/cc': 'destination', '/body': 'content', '/items/0/id': 'selector' } as const
  const input = {
    to: 'ann@example.com',
    cc: ['bob@example.com', { name: 'Cid', address: 'cid@example.com' }, 7, null, true],
    body: 'Hello',
    items: [{ id: 'i-1' }, { id: 'i-2' }],
    other: 'eve@example.com',
  }

  test('returns each string and number under arguments of the roles, with its path', () => {
    expect(argsByRole(callOf(roles, input), 'destination')).toEqual([
      { path: '/to', role: 'destination', value: 'ann@example.com' },
      { path: '/cc/0', role: 'destination', value: 'bob@example.com' },
      { path: '/cc/1/name', role: 'destination', value: 'Cid' },
      { path: '/cc/1/address', role: 'destination', value: 'cid@example.com' },
      { path: '/cc/2', role: 'destination', value: '7' },
    ])
    expect(argsByRole(callOf(roles, input), 'selector', 'content').map(({ value }) => value)).toEqual(['Hello', 'i-1'])
    expect(argsByRole(callOf(roles, input), 'amount')).toEqual([])
  })

  test.for<[string, Json]>([
    ['nothing', null],
    ['text', 'to'],
    ['a list', ['to']],
    ['an object without them', {}],
    ['an object that only inherits them', JSON.parse('{"__proto__": {"to": "x"}}')],
  ])('finds nothing in %s', ([, odd]) => {
    expect(argsByRole(callOf(roles, odd), 'destination', 'content', 'selector')).toEqual([])
  })

  test('returns paths that resolve to the values, whatever the keys are', () => {
    const leaf = fc.oneof(fc.string(), fc.integer().map(String))
    const key = fc.constantFrom('a', '/', '~', '~1', 'a/b', '', ' ', 'é')
    const value = fc.array(fc.tuple(key, leaf), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs))
    fc.assert(
      fc.property(key, value, (top, under) => {
        const call = callOf({ [`/${escapePointer(top)}` as const]: 'content' }, { [top]: under })
        const rows = argsByRole(call, 'content')
        expect(rows).toHaveLength(Object.keys(under).length)
        for (const { path, value: said } of rows) {
          const segments = path
            .slice(1)
            .split('/')
            .map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'))
          let at: unknown = call.input
          for (const segment of segments) at = Reflect.get(Object(at), segment)
          expect(at).toBe(said)
        }
      }),
    )
  })
})

test('isCallTo compares the tool name of a call', () => {
  const call = callOf({}, { n: 1 })
  const named = (name: string): Tool => ({
    ...call.tool,
    name,
    '~tool': { input: {}, timeoutMs: 1, executionMode: 'parallel', trustedFields: [], examples: [] },
  })
  expect(isCallTo(call, named('send'))).toBe(true)
  expect(isCallTo(call, named('other'))).toBe(false)
})
