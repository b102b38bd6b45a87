import { dynamicTool, jsonSchema } from '@ai-sdk/provider-utils'
import { Validator } from '@cfworker/json-schema'
import type { Json, JsonSchema } from '@provost/core'
import { parseWith, ProvostError } from '@provost/core'
import {
  a2aTool,
  fromAiTool,
  foreignSchema,
  parseInput,
  patternAllowance,
  schemaProblems,
  tool,
  toolSet,
} from '@provost/tools'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { hostileSchemas } from './hostile-schemas.ts'

async function problems(schema: unknown, value: unknown): Promise<readonly string[]> {
  const parsed = await parseWith(foreignSchema(schema as JsonSchema), value)
  return parsed.ok ? [] : parsed.issues.map(({ path, message }) => `${path}: ${message}`)
}

const told = (schema: unknown): readonly string[] =>
  schemaProblems(schema as JsonSchema).map(({ path, what }) => `${path} ${what}`)

describe('a foreign schema validates', () => {
  const rows: readonly (readonly [schema: object | boolean, good: unknown, bad: unknown, path: string])[] = [
    [{ type: 'string' }, '', 1, ''],
    [{ type: ['integer', 'null'] }, 2, 2.5, ''],
    [{ enum: ['a', { b: [1] }] }, { b: [1] }, { b: [2] }, ''],
    [{ const: { a: 1, b: 2 } }, { b: 2, a: 1 }, { a: 1 }, ''],
    [{ minLength: 2, maxLength: 2 }, '😀é', 'é', ''],
    [{ pattern: '^(a+)+$' }, 'aaa', `${'a'.repeat(20_000)}!`, ''],
    [{ pattern: '^[\\p{L}\\s]{1,40}$' }, 'Ärger\u00a0da', 'x1', ''],
    [{ format: 'date-time' }, '2026-01-02T03:04:05Z', 'today', ''],
    [{ format: 'email' }, 'a@b.example', 'a b@c', ''],
    [{ minimum: 1, exclusiveMaximum: 3 }, 2, 3, ''],
    [{ minimum: 1, exclusiveMinimum: true }, 2, 1, ''],
    [{ multipleOf: 0.1 }, 0.3, 0.35, ''],
    [{ items: { type: 'number' } }, [1, 2], [1, 'x'], '1'],
    [{ prefixItems: [{ type: 'string' }], items: false }, ['a'], ['a', 1], '1'],
    [{ items: [{ type: 'string' }], additionalItems: { type: 'number' } }, ['a', 1], ['a', 'b'], '1'],
    [
      { uniqueItems: true },
      [1, '1', { a: 1 }, { a: 2 }],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      '1',
    ],
    [{ contains: { const: 1 }, maxContains: 1 }, [1, 2], [1, 1], ''],
    [{ required: ['a'] }, { a: 1 }, {}, 'a'],
    [{ properties: { a: { type: 'string' } }, additionalProperties: false }, { a: '' }, { b: 1 }, 'b'],
    [
      { patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false },
      { 'x-a': '' },
      { 'x-a': 1 },
      'x-a',
    ],
    [{ propertyNames: { maxLength: 1 } }, { a: 1 }, { ab: 1 }, 'ab'],
    [{ dependentRequired: { a: ['b'] } }, { a: 1, b: 1 }, { a: 1 }, 'b'],
    [{ anyOf: [{ type: 'string' }, { minimum: 3 }] }, 4, 2, ''],
    [{ oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, 4, 6, ''],
    [{ not: { type: 'string' } }, 1, 'x', ''],
    [JSON.parse('{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}'), 'ab', 1, ''],
    [{ $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }, 'x', 1, ''],
    [{ $ref: '#a', $defs: { a: { $anchor: 'a', type: 'string' } } }, 'x', 1, ''],
    [
      { $defs: { t: { properties: { t: { $ref: '#/$defs/t' } }, additionalProperties: false } }, $ref: '#/$defs/t' },
      { t: { t: {} } },
      { t: { t: { x: 1 } } },
      't.t.x',
    ],
    [
      { properties: { ['__proto__']: { type: 'string' }, constructor: { type: 'string' } } },
      {},
      JSON.parse('{"__proto__":1}'),
      '__proto__',
    ],
    [{ required: ['toString'] }, { toString: 1 }, {}, 'toString'],
  ]
  test.for(rows)('%j', async ([schema, good, bad, path]) => {
    expect(await problems(schema, good)).toEqual([])
    expect((await problems(schema, bad))[0]).toMatch(new RegExp(`^${path.replaceAll('.', '\\.')}: `))
    expect(told(schema)).toEqual([])
  })

  test('like another validator, for any schema and value', async () => {
    const conditions = ['if', 'then', 'else']
    const scalar = fc.constantFrom<Json>(0, 1, 2.5, -1, '', 'a', 'ab', 'b1', true, null)
    const value = fc.letrec<{ json: Json }>((tie) => ({
      json: fc.oneof(
        { maxDepth: 3 },
        scalar,
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('json'), { maxKeys: 3 }),
      ),
    })).json
    const schema = fc.letrec<{ schema: object }>((tie) => {
      const below = tie('schema')
      const some = fc.array(below, { minLength: 1, maxLength: 3 })
      const under = fc.dictionary(fc.constantFrom('a', 'b'), below, { minKeys: 1, maxKeys: 2 })
      const keywords = {
        type: fc.constantFrom('string', 'number', 'integer', 'object', 'array', ['null', 'boolean']),
        enum: fc.array(scalar, { minLength: 1, maxLength: 3 }),
        const: value,
        minimum: fc.constantFrom(0, 2),
        exclusiveMaximum: fc.constantFrom(1, 2),
        minLength: fc.constant(1),
        pattern: fc.constantFrom('^a', '\\d', '^(?:a|b)*$'),
        maxItems: fc.constant(1),
        uniqueItems: fc.constant(true),
        items: below,
        contains: below,
        required: fc.constant(['a']),
        properties: under,
        patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$'), below, { minKeys: 1, maxKeys: 1 }),
        additionalProperties: fc.oneof(fc.constant(false), below),
        propertyNames: fc.constant({ pattern: '^[ab]$' }),
        allOf: some,
        anyOf: some,
        oneOf: some,
        not: below,
        if: below,
        else: below,
      }
      return {
        schema: fc.oneof(
          { maxDepth: 3 },
          fc.record({ type: keywords.type }),
          ...Object.entries(keywords).map(([key, made]) => fc.record({ [key]: made })),
          fc.record({
            properties: under,
            additionalProperties: keywords.additionalProperties,
            required: keywords.required,
          }),
          fc
            .tuple(below, below, below)
            .map((three) => Object.fromEntries(three.map((one, at) => [conditions[at], one]))),
        ),
      }
    }).schema
    await fc.assert(
      fc.asyncProperty(schema, value, async (made, given) => {
        const { valid } = new Validator(structuredClone(made), '7').validate(given)
        expect((await problems(made, given)).length === 0).toBe(valid)
      }),
      { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 5_000 : 150 },
    )
  })
})

describe('patterns of a foreign schema', () => {
  const chars = [
    'a',
    'b',
    'Z',
    '1',
    '_',
    ' ',
    '\n',
    '\r',
    '\u00a0',
    '\u2028',
    'é',
    '😀',
    '-',
    ']',
    '^',
    '\\',
    '.',
    '\0',
  ]
  test('accept the same texts as in JavaScript', async () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '\\d',
      '\\w',
      '\\s',
      '\\S',
      '\\W',
      '[^a]',
      '[a-z\\d]',
      '[\\s_]',
      '[^\\S]',
      '\\n',
      '\\.',
      '\\u00e9',
      '\\u{1F600}',
      '\\x41',
      '\\p{L}',
      '\\P{Lu}',
      '[\\p{L}-]',
      '[^]',
      '[]',
      '\\\\',
      '\\]',
      '[\\]^]',
      '\\0',
      '\\b',
      '^',
      '$',
    )
    const pattern = fc.letrec<{ p: string }>((tie) => ({
      p: fc.oneof(
        { maxDepth: 3 },
        atom,
        fc.tuple(tie('p'), tie('p')).map((two) => two.join('')),
        fc.tuple(tie('p'), tie('p')).map(([a, b]) => `(?:${a}|${b})`),
        fc
          .tuple(tie('p'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,}', '*?', '+?'))
          .map(([a, q]) => `(${a})${q}`),
      ),
    })).p
    const subject = fc.array(fc.constantFrom(...chars), { maxLength: 6 }).map((list) => list.join(''))
    await fc.assert(
      fc.asyncProperty(pattern, subject, async (source, text) => {
        expect((await problems({ pattern: source }, text)).length === 0).toBe(new RegExp(source, 'u').test(text))
      }),
      { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 5_000 : 150 },
    )
  })

  test.for([
    ['(?=a)b', 'it looks around'],
    ['(?<!a)b', 'it looks around'],
    ['(a)\\1', 'it refers back'],
    ['(?<x>a)\\k<x>', 'it refers back'],
    ['a{1001}', 'it repeats something more than 1000 times'],
    ['(((a{10}){10}){10}){2}', 'its repetitions come to more than 1000 instructions'],
    ['(?i:a)', 'it sets flags'],
    ['\\p{Emoji}', 'it asks for the Unicode property Emoji'],
    ['(', 'it is not a regular expression'],
    ['a'.repeat(1_001), 'it has more than 1000 characters'],
    ['\\p{L}'.repeat(21), 'it asks for more than 20 Unicode properties'],
  ] as const)('with %s are reported with their place, and ignored', async ([pattern, why]) => {
    const schema = { properties: { a: { type: 'string', pattern } } }
    expect(told(schema)).toEqual([expect.stringMatching(/^\/properties\/a\/pattern /)])
    expect(told(schema)[0]).toContain(why)
    expect(await problems(schema, { a: 'zzz' })).toEqual([])
    // An ignored pattern decides nothing, also inside not, oneOf and if.
    expect(await problems({ not: { pattern } }, 'zzz')).toEqual([])
    expect(await problems({ oneOf: [{ pattern }, { type: 'string' }] }, 'zzz')).toEqual([])
    expect(await problems(JSON.parse(JSON.stringify({ if: { pattern }, else: false })), 'zzz')).toEqual([])
  })

  test('share one limit of work across schemas', () => {
    const allowance = patternAllowance()
    const schema = { properties: { a: { pattern: 'x'.repeat(900) } } }
    const named = Array.from({ length: 15 }, () => schemaProblems(schema, allowance).length)
    expect(named).toEqual([...Array.from({ length: 11 }, () => 0), 1, 1, 1, 1])
  })
})

describe('a hostile schema', () => {
  test.for(hostileSchemas.map((row) => [row.name, row] as const))(
    '%s',
    async ([, { schema, value, check, review }]) => {
      const [found, said] = [await problems(schema, value), told(schema)]
      expect(found.join('; ') || 'fits').toContain(check)
      expect(said.join('; ') || 'good').toContain(review)
      expect(said.length).toBeLessThanOrEqual(20)
    },
  )

  test('lets other work run while many values are checked', async () => {
    const schema = foreignSchema({ items: { type: 'number' } })
    const value = Array.from({ length: 120_000 }, (_, i) => i)
    let turns = 0
    let counting = true
    const count = (): void => void (turns++, counting && setImmediate(count))
    setImmediate(count)
    const all = await Promise.all(Array.from({ length: 8 }, async () => parseWith(schema, value)))
    counting = false
    expect(all.every(({ ok }) => ok)).toBe(true)
    expect(turns).toBeGreaterThanOrEqual(3)
  })
})

describe('foreign schemas', () => {
  const evil = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } } as const
  const input = { a: `${'a'.repeat(50_000)}!` }

  test.for(hostileSchemas.map((row) => [row.name, row] as const))('never make a call throw: %s', async ([, row]) => {
    const schema = { properties: { a: row.schema }, required: 5 }
    const codes: string[] = []
    try {
      const made = tool({ name: 't', input: foreignSchema(schema as unknown as JsonSchema) })
      const parsed = await parseInput(made, { a: row.value, b: 1 } as Json)
      codes.push(parsed.ok ? 'ok' : parsed.error.code)
      expect(JSON.stringify(parsed.ok || parsed.error).length).toBeLessThan(4_000)
    } catch (thrown) {
      // A schema over 256 KB is rejected by tool().
      codes.push(thrown instanceof ProvostError ? thrown.code : String(thrown))
    }
    expect(codes.join()).toMatch(/^(?:ok|invalid-tool-input|invalid-tool)$/)
  })

  test('apply to a dynamic tool of the AI SDK, such as one of an MCP server', async () => {
    const made = fromAiTool('t', dynamicTool({ inputSchema: jsonSchema(evil), execute: async () => 1 }))
    expect(await parseInput(made, input)).toMatchObject({ ok: false, error: { code: 'invalid-tool-input' } })
    expect(made.set).toBe('dynamic')
    expect(toolSet('github', [made])[0]?.set).toBe('github')
  })

  test('apply to a remote agent, which is egress unless the operator lowers it', () => {
    const made = a2aTool({ name: 'ask', url: 'https://agent.example' })
    expect(made).toMatchObject({ effect: 'egress', idempotent: false })
    expect(a2aTool({ name: 'ask', url: 'https://agent.example', effect: 'read' }).effect).toBe('read')
  })

  test('do not apply to a local tool, whose patterns run in JavaScript', async () => {
    const own = tool({ name: 't', input: { ...evil, properties: { a: { type: 'string', pattern: '^(?!x)' } } } })
    expect(await parseInput(own, { a: 'y' })).toMatchObject({ ok: true })
    expect(await parseInput(own, { a: 'x' })).toMatchObject({ ok: false })
  })
})
