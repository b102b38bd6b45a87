import { isRecord, ProvostError } from '@provost/core'
import type { AnySchema } from '@provost/core'
import { tool } from '@provost/tools'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const input = z.object({ to: z.string(), 'a/b~c': z.string().optional() })

test('tool() keeps its options and defaults to the strictest values', () => {
  const plain = tool({ name: 'plain', input, execute: () => 1 })
  expect(plain).toMatchObject({
    name: 'plain',
    effect: 'write',
    idempotent: false,
    remote: false,
    composite: false,
    deferred: false,
    roles: {},
  })
  expect(plain['~tool']).toMatchObject({ timeoutMs: 60_000, executionMode: 'parallel' })
  expect(Object.isFrozen(plain)).toBe(true)
  expect('title' in plain || 'description' in plain || 'outputSchema' in plain).toBe(false)
})

test('a tool without execute is remote', () => {
  expect(tool({ name: 'locate', input, output: z.object({ lat: z.number() }) })).toMatchObject({
    remote: true,
    outputSchema: { type: 'object', required: ['lat'] },
  })
})

test('roles by key and by pointer both become pointers', () => {
  const listed = input.extend({ x: z.array(z.boolean()) })
  const { roles } = tool({ name: 't', input: listed, args: { to: 'destination', 'a/b~c': 'content', '/x/0': 'flag' } })
  expect(roles).toEqual({ '/to': 'destination', '/a~1b~0c': 'content', '/x/0': 'flag' })
})

test('needsApproval becomes a function for both a boolean and a predicate', () => {
  expect(tool({ name: 't', input, needsApproval: true })['~tool'].needsApproval).toBeTypeOf('function')
  expect(tool({ name: 't', input, needsApproval: false })['~tool'].needsApproval).toBeUndefined()
})

test.for<readonly [string, AnySchema]>([
  ['zod', z.object({ id: z.string() })],
  ['valibot', v.object({ id: v.string() })],
  ['arktype', type({ id: 'string' })],
  ['plain JSON Schema', { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }],
])('the model receives the input schema as JSON Schema: %s', ([, schema]) => {
  expect(tool({ name: 't', input: schema, execute: () => 1 }).inputSchema).toEqual({
    type: 'object',
    properties: { id: { type: 'string' } },
    required: ['id'],
  })
})

test('the JSON Schema describes the input of the schema, in which fields with a default are optional', () => {
  const zod = tool({ name: 't', input: z.object({ n: z.number().default(1), d: z.string().transform(Number) }) })
  expect(zod.inputSchema).toMatchObject({ required: ['d'], properties: { d: { type: 'string' } } })
  const valibot = tool({ name: 't', input: v.object({ n: v.optional(v.number(), 1), d: v.string() }) })
  expect(valibot.inputSchema).toMatchObject({ required: ['d'] })
})

test('an output schema without a JSON Schema validates, and has no description', () => {
  const when = tool({ name: 't', input, output: z.object({ at: z.date() }), execute: () => ({ at: new Date() }) })
  expect(when.outputSchema).toBeUndefined()
  expect(when['~tool'].output).toBeDefined()
})

describe('tool() rejects', () => {
  const refused = (define: () => unknown): ProvostError => {
    try {
      define()
    } catch (error) {
      if (error instanceof ProvostError) return error
      throw error
    }
    throw new Error('It was not refused.')
  }

  test.for(['', 'with space', 'x'.repeat(129), 'a\u200bb', '\u202etxt.exe', 'a\nb'])('the name %j', (name) => {
    const error = refused(() => tool({ name, input }))
    expect(error).toMatchObject({ code: 'invalid-tool', message: expect.stringContaining(JSON.stringify(name)) })
    expect(error.hint).not.toBe('')
  })

  test.for([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])('a timeout of %d ms', (timeoutMs) => {
    expect(refused(() => tool({ name: 't', input, timeoutMs })).message).toContain(`timeoutMs is ${timeoutMs}`)
  })

  test.for([
    ['its effect is read', { effect: 'read' as const }],
    ['it is a composite', { composite: true }],
  ] as const)('a compensation where %s', ([what, more]) => {
    const error = refused(() => tool({ name: 't', input, execute: () => 1, compensate: () => {}, ...more }))
    expect(error).toMatchObject({ code: 'invalid-tool', message: expect.stringContaining(what) })
  })

  test('a compensation that is not a function', () => {
    // @ts-expect-error -- a value from JavaScript
    const error = refused(() => tool({ name: 't', input, execute: () => 1, compensate: 'refund' }))
    expect(error).toMatchObject({ code: 'invalid-tool', message: expect.stringContaining('not a function') })
  })

  test('an input that is not an object', () => {
    expect(refused(() => tool({ name: 't', input: z.string() })).message).toContain('not an object')
  })

  test('an input that JSON cannot carry', () => {
    const error = refused(() => tool({ name: 't', input: z.object({ at: z.date() }) }))
    expect(error).toMatchObject({ code: 'invalid-tool', message: expect.stringContaining('Date') })
    expect(error.hint).toContain('transform')
  })

  test('a schema of a library without JSON Schema', () => {
    const schema = { '~standard': { version: 1, vendor: 'acme', validate: (value: unknown) => ({ value }) } } as const
    expect(refused(() => tool({ name: 't', input: schema })).message).toContain('acme')
  })

  test('a trusted field that is not a pointer, from untyped code', () => {
    const untyped: unknown = JSON.parse('{"trustedFields":["id"]}')
    if (!isRecord(untyped)) throw new Error('unreachable')
    expect(refused(() => tool({ name: 't', input, ...untyped })).message).toContain('"id"')
  })
})
