import type { ErrorInfo, Json, JsonSchema, Tool } from '@provost/core'
import { parseInput, tool } from '@provost/tools'
import { type } from 'arktype'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const json = {
  type: 'object',
  properties: {
    to: { type: 'string' },
    items: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } } } },
  },
  required: ['to'],
  additionalProperties: false,
} as const satisfies JsonSchema

const languages: readonly (readonly [string, Tool])[] = [
  [
    'zod',
    tool({ name: 'mail', input: z.object({ to: z.string(), items: z.array(z.object({ n: z.number() })).optional() }) }),
  ],
  [
    'valibot',
    tool({
      name: 'mail',
      input: v.object({ to: v.string(), items: v.optional(v.array(v.object({ n: v.number() }))) }),
    }),
  ],
  ['arktype', tool({ name: 'mail', input: type({ to: 'string', 'items?': type({ n: 'number' }).array() }) })],
  ['JSON Schema', tool({ name: 'mail', input: json })],
]

async function problem(of: Tool, input: Json): Promise<ErrorInfo> {
  const parsed = await parseInput(of, input)
  if (parsed.ok) throw new Error('It was accepted.')
  return parsed.error
}

describe.for(languages)('%s', ([, mail]) => {
  test('valid input is parsed synchronously', () => {
    expect(parseInput(mail, { to: 'ann', items: [{ n: 1 }] })).toEqual({
      ok: true,
      value: { to: 'ann', items: [{ n: 1 }] },
    })
  })

  test('an error names each invalid path, and how to repair the call', async () => {
    const error = await problem(mail, { to: 1, items: [{ n: 2 }, { n: 'x' }] })
    expect(error.code).toBe('invalid-tool-input')
    expect(error.message).toMatch(/^The input of mail /)
    expect(error.message).toMatch(/\bto\b/)
    expect(error.message).toMatch(/items.*1.*n/)
    expect(error.hint).toBe(
      'Call mail again with the corrected input as one JSON object. Its fields: to: string, items?: array.',
    )
  })

  test('an error names a missing field', async () => {
    expect((await problem(mail, {})).message).toContain('to')
  })

  test('text in place of an object is an error about invalid JSON with its position', async () => {
    const error = await problem(mail, '{"to": "ann", ')
    expect(error.message).toMatch(/not valid JSON: .*position 14/)
  })

  test('an object in a JSON string is rejected', async () => {
    expect((await problem(mail, '{"to":"ann"}')).message).toContain('JSON inside a string')
    // Text that is nested too deeply stays text, too.
    expect((await problem(mail, `${'['.repeat(300)}${']'.repeat(300)}`)).message).toContain('nested too deeply')
  })

  test.for<Json>([null, 1, [], [1], true])('the input %j is rejected', async (input) => {
    expect((await problem(mail, input)).code).toBe('invalid-tool-input')
  })
})

test('defaults and transforms reach execute', async () => {
  const of = tool({ name: 't', input: z.object({ n: z.string().transform(Number), d: z.string().default('x') }) })
  expect(await parseInput(of, { n: '3' })).toEqual({ ok: true, value: { n: 3, d: 'x' } })
})

test('an asynchronous schema is awaited', async () => {
  const even = z.object({ n: z.number().refine(async (n) => n % 2 === 0, 'must be even') })
  const of = tool({ name: 't', input: even })
  expect(await parseInput(of, { n: 2 })).toEqual({ ok: true, value: { n: 2 } })
  expect((await problem(of, { n: 3 })).message).toContain('n: must be even')
})

test('a validator that throws rejects the input', async () => {
  const broken = z.object({
    n: z.number().refine(() => {
      throw new Error('no database')
    }),
  })
  expect((await problem(tool({ name: 't', input: broken }), { n: 1 })).message).toContain('no database')
})

test('a broken reference in a JSON Schema rejects the input with the reason', async () => {
  const of = tool({ name: 't', input: { type: 'object', properties: { a: { $ref: '#/$defs/gone' } } } })
  expect((await problem(of, { a: 1 })).message).toContain('#/$defs/gone')
})

test('a JSON Schema stays unchanged, and may be frozen', async () => {
  const schema = Object.freeze({
    type: 'object',
    properties: Object.freeze({ a: Object.freeze({ $ref: '#/$defs/a' }) }),
    $defs: { a: { type: 'string' } },
  } as const)
  const of = tool({ name: 't', input: schema })
  expect(await parseInput(of, { a: 'x' })).toMatchObject({ ok: true })
  expect(of.inputSchema).toBe(schema)
  expect((await problem(of, { a: 1 })).message).toContain('a: ')
})

test('a lone surrogate as key and endlessly nested data are rejected without a crash', async () => {
  const of = tool({ name: 't', input: { type: 'object', additionalProperties: { $ref: '#' } } })
  expect((await problem(of, { '\ud800': 1 })).code).toBe('invalid-tool-input')
  let deep: Json = {}
  for (let depth = 0; depth < 50_000; depth++) deep = { a: deep }
  expect((await problem(of, deep)).code).toBe('invalid-tool-input')
})

test('the error is short, whatever the model writes', async () => {
  const strict = tool({ name: 'mail', input: z.strictObject({ to: z.email(), list: z.array(z.number()) }) })
  const byJson = tool({ name: 'mail', input: json })
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const input: Json = JSON.parse(JSON.stringify(value))
      for (const mail of [strict, byJson]) {
        const parsed = await parseInput(mail, input)
        if (parsed.ok) continue
        expect(parsed.error.message.length).toBeLessThan(1_100)
        expect(parsed.error.hint?.length).toBeLessThan(700)
      }
    }),
  )
  const many = Array.from({ length: 10_000 }, () => 'x')
  const error = await problem(strict, { to: 'y'.repeat(100_000), list: many, ['k'.repeat(100_000)]: 1 })
  expect(error.message.length).toBeLessThan(1_100)
  expect(error.message).toMatch(/and \d+ more/)
})
