import type { Conversation } from '../doors/http.ts'
import { httpDoor } from '../doors/http.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { deep, fill, many, wide } from '../text.ts'

/** A client's tool with this schema, which the model calls with these arguments. */
function brought(schema: Record<string, unknown>, input: unknown = {}): Conversation {
  const inputSchema = { type: 'object', ...schema }
  return {
    requests: [{ path: '/api/agent/execute', body: { input: 'Go.', tools: [{ name: 'theirs', inputSchema }] } }],
    steps: [{ toolCalls: [{ name: 'theirs', input }] }, { text: 'Done.' }],
  }
}

const pattern = (source: string, text: string): Conversation =>
  brought({ properties: { v: { type: 'string', pattern: source } } }, { v: text })
/** A schema is refused, or its check is linear: then the call waits for the client, or its arguments are refused. */
const either = ['400 *', '200 suspended', '200 completed'] as const

/** Each refers to the next one twice. */
function doubling(depth: number, word: 'anyOf' | 'allOf' | 'oneOf'): Record<string, unknown> {
  const next = (n: number): unknown[] => many(2, () => ({ $ref: `#/$defs/d${n + 1}` }))
  const defs = Object.fromEntries(many(depth, (n) => [`d${n}`, { [word]: next(n) }]))
  return { $defs: { ...defs, [`d${depth}`]: { const: 1 } }, properties: { v: { $ref: '#/$defs/d0' } } }
}

/** `anyOf` in `anyOf`. */
function tree(depth: number): unknown {
  return depth === 0 ? { type: 'number' } : { anyOf: [tree(depth - 1), tree(depth - 1)] }
}

const rows: Rows<Conversation> = {
  'a pattern that tries all ways': [() => pattern('^(a+)+$', `${fill('a', 30)}!`), ...either],
  'a pattern of nested repetitions': [() => pattern('^((a*)*)*$', `${fill('a', 30)}!`), ...either],
  'a pattern of alternatives': [() => pattern('^(a|a|aa)+$', `${fill('a', 40)}!`), ...either],
  'a pattern that looks back': [() => pattern('^(a+)\\1+$', `${fill('a', 5_000)}!`), ...either],
  'a pattern that looks ahead': [() => pattern('^(?=(a+))a*b\\1$', `${fill('a', 20_000)}!`), ...either],
  'a pattern of many dots': [() => pattern(`^${fill('.*', 24)}x$`, fill('a', 3_000)), ...either],
  'a pattern that is quadratic': [() => pattern('\\s+$', fill(' ', 200_000)), ...either],
  'a pattern that counts': [() => pattern('^(a{1,1000}){1,1000}$', fill('a', 2_000)), ...either],
  'a pattern of 60 KB': [() => pattern(fill('(a|b)?', 60_000), fill('a', 10_000)), ...either],
  'a pattern that is none': [() => pattern('(((', 'x'), ...either],
  'a pattern of nested groups': [() => pattern(`${fill('(', 10_000)}a${fill(')', 10_000)}`, 'a'), ...either],
  'keys by a pattern that tries all ways': [
    () => brought({ patternProperties: { '^(a+)+$': { type: 'number' } } }, { [`${fill('a', 30)}!`]: 1 }),
    ...either,
  ],
  'names by a pattern that tries all ways': [
    () => brought({ propertyNames: { pattern: '^(a|a)+$' } }, { [`${fill('a', 30)}!`]: 1 }),
    ...either,
  ],
  'a pattern in a reference': [
    () =>
      brought(
        { $defs: { p: { pattern: '^(a+)+$' } }, properties: { v: { $ref: '#/$defs/p' } } },
        { v: `${fill('a', 30)}!` },
      ),
    ...either,
  ],
  'a format that is a pattern': [
    () => brought({ properties: { v: { type: 'string', format: 'email' } } }, { v: `${fill('a.', 100_000)}@` }),
    ...either,
  ],
  'a format of uri': [
    () => brought({ properties: { v: { type: 'string', format: 'uri' } } }, { v: `http://${fill('a:', 100_000)}` }),
    ...either,
  ],
  'references that double, anyOf': [() => brought(doubling(30, 'anyOf'), { v: 2 }), ...either],
  'references that double, allOf': [() => brought(doubling(30, 'allOf'), { v: 1 }), ...either],
  'references that double, oneOf': [() => brought(doubling(30, 'oneOf'), { v: 2 }), ...either],
  'a reference to itself': [
    () => brought({ $defs: { a: { $ref: '#/$defs/a' } }, properties: { v: { $ref: '#/$defs/a' } } }, { v: 1 }),
    ...either,
  ],
  'references in a circle': [
    () =>
      brought(
        { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, properties: { v: { $ref: '#/$defs/a' } } },
        { v: 1 },
      ),
    ...either,
  ],
  'a tree that is itself inside': [
    () =>
      brought(
        { properties: { v: { $ref: '#' } }, additionalProperties: false },
        JSON.parse(`${'{"v":'.repeat(900)}{}${'}'.repeat(900)}`),
      ),
    ...either,
  ],
  'a reference to another machine': [
    () => brought({ properties: { v: { $ref: 'http://127.0.0.1:9/schema' } } }, { v: 1 }),
    ...either,
  ],
  'a reference to nothing': [() => brought({ properties: { v: { $ref: '#/$defs/none' } } }, { v: 1 }), ...either],
  'a reference into a prototype': [
    () => brought({ properties: { v: { $ref: '#/__proto__/toString' } } }, { v: 1 }),
    ...either,
  ],
  'a tree of anyOf': [() => brought({ properties: { v: tree(10) as object } }, { v: 'x' }), ...either],
  'an enum of 8,000': [
    () => brought({ properties: { v: { enum: many(8_000, (n) => `v${n}`) } } }, { v: 'none' }),
    ...either,
  ],
  'an enum of deep values': [
    () => brought({ properties: { v: { enum: many(100, () => deep(90)) } } }, { v: deep(90, 2) }),
    ...either,
  ],
  'all different, 100,000 of them': [
    () => brought({ properties: { v: { type: 'array', uniqueItems: true } } }, { v: many(100_000, (n) => n) }),
    ...either,
  ],
  'all different, objects': [
    () => brought({ properties: { v: { type: 'array', uniqueItems: true } } }, { v: many(8_000, (n) => ({ n: [n] })) }),
    ...either,
  ],
  'one of them inside, of many': [
    () =>
      brought(
        { properties: { v: { contains: { anyOf: many(200, (n) => ({ const: n })) } } } },
        { v: many(20_000, () => -1) },
      ),
    ...either,
  ],
  'properties, 2,000 of them': [
    () => brought({ properties: wide(2_000, () => ({ type: 'string' })) }, wide(2_000)),
    ...either,
  ],
  'required, 5,000 of them': [() => brought({ required: many(5_000, (n) => `k${n}`) }, {}), ...either],
  'nested 90 deep': [
    () => brought({ properties: { v: JSON.parse(`${'{"items":'.repeat(80)}{}${'}'.repeat(80)}`) } }, { v: deep(85) }),
    ...either,
  ],
  'a dependence for each key': [
    () => brought({ dependentSchemas: wide(500, () => ({ required: many(20, (n) => `k${n}`) })) }, wide(500)),
    ...either,
  ],
  'what must not be, nested': [() => brought(JSON.parse(`${'{"not":'.repeat(80)}{}${'}'.repeat(80)}`)), ...either],
  'words that are no schema': [() => brought({ properties: 7, required: 'x', pattern: 1 }), ...either],
  'keys of a prototype': [
    () =>
      brought(
        JSON.parse('{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"number"}}}'),
        JSON.parse('{"__proto__":1}'),
      ),
    ...either,
  ],
  'a multiple of next to nothing': [
    () => brought({ properties: { v: { multipleOf: 1e-308 } } }, { v: 1e308 }),
    ...either,
  ],
  'tools, 33 of them': [
    () => ({
      requests: [
        {
          path: '/api/agent/execute',
          body: { input: 'x', tools: many(33, (n) => ({ name: `t${n}`, inputSchema: { type: 'object' } })) },
        },
      ],
    }),
    '400 *',
  ],
  'a description of 1 MB': [
    () => ({
      requests: [
        {
          path: '/api/agent/execute',
          body: {
            input: 'x',
            tools: [{ name: 't', description: fill('x', 1_000_000), inputSchema: { type: 'object' } }],
          },
        },
      ],
    }),
    '400 *',
  ],
  'a tool with the name of ours': [
    () => ({
      requests: [
        { path: '/api/agent/execute', body: { input: 'x', tools: [{ name: 'pay', inputSchema: { type: 'object' } }] } },
      ],
    }),
    '400 *',
    '409 *',
    '200 completed',
  ],
}

/** Schemas of tools that clients bring. */
export const schemas: readonly HostileInput[] = hostileInputs('schema', httpDoor, rows, { stored: true })
