import { isStandardSchema, parseWith } from '@provost/core'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

/** One schema in three libraries: a name, and items with a number. */
const schemas = [
  ['zod', z.object({ name: z.string(), items: z.array(z.object({ n: z.number() })) })],
  ['valibot', v.object({ name: v.string(), items: v.array(v.object({ n: v.number() })) })],
  ['arktype', type({ name: 'string', items: [{ n: 'number' }, '[]'] })],
] as const

describe.for(schemas)('a schema of %s', ([, schema]) => {
  test('is a Standard Schema and accepts valid input synchronously', () => {
    expect(isStandardSchema(schema)).toBe(true)
    const value = { name: 'a', items: [{ n: 1 }] }
    expect(parseWith(schema, value)).toEqual({ ok: true, value })
  })

  test('reports the path and the problem', () => {
    const parsed = parseWith(schema, { name: 'a', items: [{ n: 1 }, { n: 'two' }] })
    expect(parsed).toMatchObject({
      ok: false,
      issues: [{ path: 'items.1.n', message: expect.stringMatching(/number/i) }],
    })
  })

  test('reports a problem of the value itself', () => {
    expect(parseWith(schema, 'text')).toMatchObject({ ok: false, issues: [{ path: '' }] })
  })
})

test('parseWith applies defaults and transforms', () => {
  const schema = z.object({ n: z.string().transform(Number), more: z.boolean().default(true) })
  expect(parseWith(schema, { n: '7' })).toEqual({ ok: true, value: { n: 7, more: true } })
})

test('parseWith returns a promise for an asynchronous schema', async () => {
  const schema = z.string().refine(async (value) => value === 'yes')
  const parsed = parseWith(schema, 'no')
  expect(parsed).toBeInstanceOf(Promise)
  expect(await parsed).toMatchObject({ ok: false })
  expect(await parseWith(schema, 'yes')).toEqual({ ok: true, value: 'yes' })
})

test('isStandardSchema rejects a JSON Schema and other values', () => {
  for (const other of [{ type: 'object' }, null, undefined, 'x', () => 1]) expect(isStandardSchema(other)).toBe(false)
})
