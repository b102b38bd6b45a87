// Checked by the compiler alone: what follows from a schema and from what `execute` returns, in any schema language.
import { type } from 'arktype'
import { createAgent, rich, tool, z } from 'provost'
import type { Agent, JsonSchema, StandardSchemaV1, Tool, ToolContext } from 'provost'
import { bashTool, fileTools, readTool } from 'provost/files'
import type { ReadResult } from 'provost/files'
import * as v from 'valibot'
import { expectTypeOf } from 'vitest'

type In<T> = T extends Tool<infer I, infer _Out, infer _App> ? I : never
type Out<T> = T extends Tool<infer _In, infer O, infer _App> ? O : never

const byZod = tool({
  name: 'by_zod',
  input: z.object({ id: z.string(), times: z.number().default(1) }),
  execute: ({ id, times }) => ({ id, times: times.toFixed(1) }),
})
const byValibot = tool({
  name: 'by_valibot',
  input: v.object({ id: v.string(), times: v.optional(v.number(), 1) }),
  execute: async ({ id, times }) => ({ id, times: times.toFixed(1) }),
})
const byArktype = tool({
  name: 'by_arktype',
  input: type({ id: 'string', times: 'number = 1' }),
  execute: ({ id, times }) => ({ id, times: times.toFixed(1) }),
})
const byJson = tool({
  name: 'by_json',
  input: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      times: { type: 'integer' },
      tags: { type: 'array', items: { enum: ['hot', 'cold'] } },
      size: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    },
    required: ['id', 'size'],
  },
  args: { id: 'selector', '/tags/0': 'content' },
  execute: ({ id, times, tags, size }) => ({ id, times: times?.toFixed(1), first: tags?.[0], size }),
})
expectTypeOf<In<typeof byZod>>().toEqualTypeOf<{ id: string; times?: number | undefined }>()
expectTypeOf<In<typeof byValibot>>().toEqualTypeOf<{ id: string; times?: number | undefined }>()
expectTypeOf<In<typeof byArktype>>().toEqualTypeOf<{ id: string; times?: number }>()
expectTypeOf<In<typeof byJson>>().toEqualTypeOf<{
  id: string
  times?: number
  tags?: ('hot' | 'cold')[]
  size: number | null
}>()
expectTypeOf<Out<typeof byZod>>().toEqualTypeOf<{ id: string; times: string }>()
expectTypeOf<Out<typeof byValibot>>().toEqualTypeOf<{ id: string; times: string }>()
expectTypeOf<Out<typeof byArktype>>().toEqualTypeOf<{ id: string; times: string }>()
expectTypeOf<Out<typeof byJson>>().toEqualTypeOf<{
  id: string
  times: string | undefined
  first: 'hot' | 'cold' | undefined
  size: number | null
}>()

// One that stands apart, `as const`, with what JSON Schema says in other ways.
const apart = {
  type: 'object',
  properties: {
    note: { type: ['string', 'null'] },
    rows: { type: 'array' },
    sums: { type: 'object', additionalProperties: { type: 'number' } },
  },
  required: ['note'],
} as const
const byConstant = tool({ name: 'by_constant', input: apart, args: { note: 'content' }, execute: ({ note }) => note })
expectTypeOf<In<typeof byConstant>>().toEqualTypeOf<{
  note: string | null
  rows?: unknown[]
  sums?: Record<string, number>
}>()
// Its type does not say which fields are required, so that each may be missing.
const loose = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } satisfies JsonSchema
const byLoose = tool({ name: 'by_loose', input: loose, execute: ({ id }) => id ?? '' })
expectTypeOf<In<typeof byLoose>>().toEqualTypeOf<{ id?: string }>()

// A schema that is known at run time only: anything in, roles for any name.
declare const fetched: JsonSchema
const dynamic = tool({
  name: 'dynamic',
  input: fetched,
  effect: 'egress',
  args: { to: 'destination' },
  execute: (input) => JSON.stringify(input),
})
expectTypeOf<In<typeof dynamic>>().toEqualTypeOf<unknown>()
declare const anySchema: StandardSchemaV1
expectTypeOf<In<ReturnType<typeof wrap>>>().toEqualTypeOf<unknown>()
function wrap() {
  return tool({ name: 'wrapped', input: anySchema, execute: (input) => input })
}

// Streams: the returned value, else the joined text, else the last yield.
const query = z.object({ q: z.string() })
const joined = tool({
  name: 'joined',
  input: query,
  async *execute({ q }, ctx) {
    ctx.progress({ looking: q })
    yield 'found '
    yield q
  },
})
const returned = tool({
  name: 'returned',
  input: query,
  async *execute({ q }) {
    yield 'looking'
    return { hits: [q] }
  },
})
const last = tool({
  name: 'last',
  input: query,
  async *execute({ q }) {
    for (const done of [0.5, 1]) yield { done, q }
  },
})
expectTypeOf<Out<typeof joined>>().toEqualTypeOf<string>()
expectTypeOf<Out<typeof returned>>().toEqualTypeOf<{ hits: string[] }>()
expectTypeOf<Out<typeof last>>().toEqualTypeOf<{ done: number; q: string }>()

// Remote: what comes back is what the output schema says.
const locate = tool({ name: 'locate', input: z.object({}), output: z.object({ lat: z.number(), lon: z.number() }) })
expectTypeOf<Out<typeof locate>>().toEqualTypeOf<{ lat: number; lon: number }>()

// An output schema types the label, and stands for the result; `rich` adds to a value and leaves its type alone.
const row = tool({
  name: 'row',
  input: z.object({ id: z.string() }),
  output: z.object({ total: z.number(), note: z.string() }),
  execute: async ({ id }) => ({ total: id.length, note: 'free text' }),
  returns: ({ total }, { id }) => ({ integrity: total > 0 ? 'trusted' : 'untrusted', sources: [id] }),
  trustedFields: ['/total'],
  examples: [{ input: { id: '17' }, output: { total: 2, note: '' }, note: 'an old order' }],
})
const chart = tool({
  name: 'chart',
  input: z.object({}),
  execute: () => rich({ points: 3 }, { content: [{ type: 'text', text: 'a chart' }], details: { svg: '<svg/>' } }),
})
expectTypeOf<Out<typeof row>>().toEqualTypeOf<{ total: number; note: string }>()
expectTypeOf<Out<typeof chart>>().toEqualTypeOf<{ points: number }>()
expectTypeOf<Out<typeof readTool>>().toEqualTypeOf<ReadResult>()

// All of them in one agent, which wants no app value for it.
const tools = [
  byZod,
  byValibot,
  byArktype,
  byJson,
  byConstant,
  byLoose,
  dynamic,
  wrap(),
  joined,
  returned,
  last,
  locate,
  row,
  chart,
  bashTool,
]
const agent = createAgent({ name: 'all', model: 'openai/gpt-5', tools: [...tools, ...fileTools] })
expectTypeOf(agent).toEqualTypeOf<Agent>()

// What `execute` gets besides its input.
export const curious = tool({
  name: 'curious',
  input: z.object({}),
  async execute(_, ctx) {
    expectTypeOf(ctx).toEqualTypeOf<ToolContext>()
    expectTypeOf(ctx.context).toEqualTypeOf<unknown>()
    const { stdout, exitCode } = await ctx.runtime.exec('date', { timeout: 1000, signal: ctx.signal })
    return { [ctx.callId]: exitCode === 0 ? stdout : ctx.idempotencyKey }
  },
})
