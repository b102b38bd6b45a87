import { canonicalJson, deepFreeze, isPromise, isRecord, toJson } from '@provost/core'
import type { Json } from '@provost/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { json } from '../arbitrary.ts'

describe('toJson', () => {
  test.for<[string, unknown, Json]>([
    ['JSON unchanged', { a: [1, 'x', null, true] }, { a: [1, 'x', null, true] }],
    ['undefined as null', undefined, null],
    ['no undefined fields, and undefined items as null', { a: undefined, b: [undefined] }, { b: [null] }],
    ['the result of toJSON', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
    ['numbers that JSON lacks as null', [Number.NaN, Infinity, 1], [null, null, 1]],
    ['NaN as null', Number.NaN, null],
    ['no functions and symbols of objects', { f: () => 1, s: Symbol('s'), n: 1 }, { n: 1 }],
    [
      'keys named __proto__ not at all',
      JSON.parse('{"__proto__": {"admin": true}, "a": [{"__proto__": 1, "b": 2}]}'),
      { a: [{ b: 2 }] },
    ],
    ['text that mentions them unchanged', { say: '"__proto__"' }, { say: '"__proto__"' }],
  ])('writes %s', ([, value, expected]) => {
    expect(toJson(value)).toStrictEqual(expected)
  })

  test('returns a copy that shares nothing, and converting it again changes nothing', () => {
    fc.assert(
      fc.property(json, (value) => {
        const copy = toJson(value)
        expect(copy).toStrictEqual(value)
        expect(typeof value === 'object' && value !== null && copy === value).toBe(false)
      }),
    )
  })

  const nested = (levels: number, around: (inner: unknown) => unknown) => {
    let value: unknown = 'inside'
    for (let level = 0; level < levels; level++) value = around(value)
    return value
  }
  test('accepts a value of the greatest depth', () => {
    const value = nested(500, (inner) => [1, { inner }])
    expect(JSON.stringify(toJson(value))).toBe(JSON.stringify(value))
  })

  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  test.for<[string, unknown, RegExp]>([
    ['a cycle', cycle, /circular/i],
    ['lists nested too deeply', nested(1001, (inner) => [inner]), /deeper than 1000/],
    // JSON.stringify writes so many levels, and a reviver does not read them.
    ['prototype keys nested too deeply', nested(3000, (inner) => [inner, JSON.parse('{"__proto__":1}')]), /stack size/],
    ['objects nested too deeply', nested(1001, (inner) => ({ a: 1, inner })), /deeper than 1000/],
    ['a BigInt', 1n, /BigInt/],
    ['a BigInt inside', { n: 1n }, /BigInt/],
    ['a function', () => 1, /function/],
    ['a symbol', Symbol('s'), /symbol/],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('no way')
        },
      },
      /no way/,
    ],
  ])('rejects %s and names it in one line', ([, value, what]) => {
    const write = (): Json => toJson(value)
    expect(write).toThrow(
      expect.objectContaining({
        code: 'not-json',
        message: expect.stringMatching(what),
        hint: expect.stringMatching(/./),
      }),
    )
    expect(write).not.toThrow(/\n/)
  })
})

describe('canonicalJson', () => {
  test('parses to the same value', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).toStrictEqual(value)
      }),
    )
  })

  test('is equal for equal values, whatever the order of their keys', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
      }),
    )
  })

  test('differs for different values', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
        expect(canonicalJson(a) === canonicalJson(b)).toBe(same)
      }),
    )
    expect(new Set([{}, [], '', null, 0, false, '{}', { a: null }].map(canonicalJson)).size).toBe(8)
  })

  test('ignores undefined fields, as JSON does', () => {
    expect(canonicalJson({ b: 1, a: [true], c: undefined })).toBe('{"a":[true],"b":1}')
  })
})

/** Returns the value with the keys of each object in reverse order. */
function reversed(value: Json): Json {
  return rebuilt(value, (keys) => keys.toReversed())
}

function sorted(value: Json): Json {
  return rebuilt(value, (keys) => keys.toSorted())
}

function rebuilt(value: Json, order: (keys: string[]) => string[]): Json {
  if (Array.isArray(value)) return value.map((item: Json) => rebuilt(item, order))
  if (!isRecord(value)) return value
  const fields: Record<string, Json> = value as Record<string, Json>
  return Object.fromEntries(order(Object.keys(fields)).map((key) => [key, rebuilt(fields[key] ?? null, order)]))
}

describe('deepFreeze', () => {
  test('freezes all levels and returns the value', () => {
    fc.assert(
      fc.property(json, (value) => {
        const copy = structuredClone(value)
        expect(deepFreeze(copy)).toBe(copy)
        expect(isFrozenThrough(copy)).toBe(true)
        expect(copy).toStrictEqual(value)
      }),
    )
  })

  test('skips frozen values', () => {
    let walked = 0
    const shared = deepFreeze({
      a: 1,
      get b() {
        walked++
        return { c: 1 }
      },
    })
    const before = walked
    deepFreeze({ one: shared, two: shared })
    expect(walked).toBe(before)
  })

  test('ends at a cycle', () => {
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    expect(Object.isFrozen(deepFreeze(cycle))).toBe(true)
  })
})

function isFrozenThrough(value: unknown): boolean {
  return (
    typeof value !== 'object' ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every(isFrozenThrough))
  )
}

test('isPromise recognises thenables, isRecord plain objects', () => {
  // oxlint-disable-next-line unicorn/no-thenable -- the test is about thenables
  const [thenable, odd] = [{ then: () => 1 }, { then: 1 }]
  expect([Promise.resolve(), thenable].map((value) => isPromise<unknown>(value))).toEqual([true, true])
  expect([null, undefined, 1, 'then', {}, odd].map((value) => isPromise<unknown>(value))).not.toContain(true)
  expect([{}, new Date()].map(isRecord)).toEqual([true, true])
  expect([null, undefined, [], 'x', 1].map(isRecord)).not.toContain(true)
})
