// The compiler checks this file: what must compile, with which types, and what must not.
import type { ContextOf, JsonSchema, Tool, ToolContext } from '@provost/core'
import { rich, tool } from '@provost/tools'
import type { Executed } from '@provost/tools'
import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf } from 'vitest'
import { z } from 'zod'

type In<T> = T extends Tool<infer I, infer _Out, infer _App> ? I : never
type Out<T> = T extends Tool<infer _In, infer O, infer _App> ? O : never

// One tool in four schema languages: the same types.
const byZod = tool({
  name: 'a',
  input: z.object({ id: z.string(), n: z.number().default(1) }),
  execute: ({ id, n }) => ({ id, n: n.toFixed(1) }),
})
const byValibot = tool({
  name: 'b',
  input: v.object({ id: v.string(), n: v.number() }),
  execute: async ({ id, n }) => ({ id, n: n.toFixed(1) }),
})
const byArktype = tool({
  name: 'c',
  input: type({ id: 'string', n: 'number' }),
  execute: ({ id, n }) => ({ id, n: n.toFixed(1) }),
})
const byJson = tool({
  name: 'd',
  input: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      n: { type: 'number' },
      tags: { type: 'array', items: { enum: ['x', 'y'] } },
    },
    required: ['id', 'n'],
  },
  args: { id: 'selector', '/tags/0': 'content' },
  execute: ({ id, n, tags }) => ({ id, n: n.toFixed(1), first: tags?.[0] }),
})
expectTypeOf<Out<typeof byZod>>().toEqualTypeOf<{ id: string; n: string }>()
expectTypeOf<In<typeof byZod>>().toEqualTypeOf<{ id: string; n?: number | undefined }>()
expectTypeOf<Out<typeof byValibot>>().toEqualTypeOf<{ id: string; n: string }>()
expectTypeOf<In<typeof byValibot>>().toEqualTypeOf<{ id: string; n: number }>()
expectTypeOf<Out<typeof byArktype>>().toEqualTypeOf<{ id: string; n: string }>()
expectTypeOf<In<typeof byArktype>>().toEqualTypeOf<{ id: string; n: number }>()
expectTypeOf<Out<typeof byJson>>().toEqualTypeOf<{ id: string; n: string; first: 'x' | 'y' | undefined }>()
expectTypeOf<In<typeof byJson>>().toEqualTypeOf<{ id: string; n: number; tags?: ('x' | 'y')[] }>()

// A schema that is only known at run time: unknown input, any role name.
export const dynamic = (schema: JsonSchema): Tool<unknown, string, unknown> =>
  tool({
    name: 'dyn',
    input: schema,
    effect: 'egress',
    args: { to: 'destination' },
    execute: (input) => JSON.stringify(input),
  })
expectTypeOf<In<ReturnType<typeof dynamic>>>().toEqualTypeOf<unknown>()

// Streaming.
const input = z.object({ q: z.string() })
const joined = tool({
  name: 's1',
  input,
  async *execute({ q }, ctx) {
    ctx.progress({ q })
    yield 'part '
    yield q
  },
})
const returned = tool({
  name: 's2',
  input,
  async *execute({ q }) {
    yield 'thinking'
    return { hits: [q] }
  },
})
const last = tool({
  name: 's3',
  input,
  async *execute({ q }) {
    yield { done: 0.5, q }
    yield { done: 1, q }
  },
})
expectTypeOf<Out<typeof joined>>().toEqualTypeOf<string>()
expectTypeOf<Out<typeof returned>>().toEqualTypeOf<{ hits: string[] }>()
expectTypeOf<Out<typeof last>>().toEqualTypeOf<{ done: number; q: string }>()
expectTypeOf<Executed<Promise<AsyncIterable<'a' | 'b'>>>>().toEqualTypeOf<string>()
expectTypeOf<Executed<ReadableStream<Uint8Array>>>().toEqualTypeOf<Uint8Array>()
expectTypeOf<Executed<boolean | Promise<boolean>>>().toEqualTypeOf<boolean>()

// Remote: no execute; the output schema gives its type.
const locate = tool({
  name: 'locate',
  effect: 'read',
  input: z.object({}),
  output: z.object({ lat: z.number(), lon: z.number() }),
})
expectTypeOf<Out<typeof locate>>().toEqualTypeOf<{ lat: number; lon: number }>()

// Output validated, labels typed by it.
const checked = tool({
  name: 'row',
  input: z.object({ id: z.string() }),
  output: z.object({ total: z.number(), note: z.string() }),
  execute: async ({ id }) => ({ total: id.length, note: 'free text' }),
  returns: (output) => ({ integrity: output.total > 0 ? 'trusted' : 'untrusted' }),
  trustedFields: ['/total'],
})
expectTypeOf<Out<typeof checked>>().toEqualTypeOf<{ total: number; note: string }>()

// Without an output schema, labels are typed by what execute returns.
export const labelled = tool({
  name: 'labelled',
  input,
  execute: ({ q }) => ({ length: q.length }),
  returns: (output, { q }) => ({ sources: [q, output.length.toFixed()] }),
})

// rich() results.
const chart = tool({
  name: 'chart',
  input: z.object({}),
  execute: () => rich({ points: 3 }, { content: [{ type: 'text', text: 'a chart' }], details: { svg: '<svg/>' } }),
})
expectTypeOf<Out<typeof chart>>().toEqualTypeOf<{ points: number }>()

// An annotation requests an app value; several request all of them.
interface App {
  db: { get(id: string): string }
}
interface Other {
  user: string
}
const lookup = tool({
  name: 'lookup',
  effect: 'read',
  input: z.object({ id: z.string() }),
  execute: ({ id }, ctx: ToolContext<App>) => ctx.context.db.get(id),
})
const who = tool({ name: 'who', input: z.object({}), execute: (_, ctx: ToolContext<Other>) => ctx.context.user })
expectTypeOf<ContextOf<typeof lookup>>().toEqualTypeOf<App>()
expectTypeOf<ContextOf<typeof lookup | typeof who>>().toEqualTypeOf<App & Other>()
expectTypeOf<ContextOf<typeof byZod>>().toEqualTypeOf<unknown>()

// `compensate` receives the result, the parsed input, and what `execute` receives.
tool({
  name: 'refundable',
  input: z.object({ invoice: z.string().transform(Number) }),
  secrets: ['bank'],
  execute: async ({ invoice }) => ({ receipt: invoice }),
  compensate(output, ctx) {
    expectTypeOf(output).toEqualTypeOf<{ receipt: number }>()
    expectTypeOf(ctx.input).toEqualTypeOf<{ invoice: number }>()
    expectTypeOf(ctx.secrets).toEqualTypeOf<Readonly<Record<'bank', string>>>()
    expectTypeOf(ctx.idempotencyKey).toBeString()
  },
})

// Any tool is a Tool.
export const all: readonly Tool[] = [byZod, byValibot, byArktype, byJson, joined, locate, checked, chart, lookup, who]

declare function someNumbers(): AsyncGenerator<number, void, unknown>
const pay = z.object({ to: z.string(), amount: z.number() })
export function mustNotCompile(): void {
  // @ts-expect-error amount is a number
  tool({ name: 't', input: pay, execute: ({ amount }) => amount.toUpperCase() })
  // @ts-expect-error execute reads an unknown field
  tool({ name: 't', input: pay, execute: ({ sum }) => sum })
  // @ts-expect-error needsApproval reads an unknown field
  tool({ name: 't', input: pay, needsApproval: ({ amuont }) => amuont > 1, execute: () => 1 })
  // @ts-expect-error an effect is one of four
  tool({ name: 't', input: pay, effect: 'delete', execute: () => 1 })
  // @ts-expect-error the effect is undefined
  tool({ name: 't', input: pay, effect: undefined, execute: () => 1 })
  // @ts-expect-error a role for an unknown argument
  tool({ name: 't', input: pay, args: { too: 'destination' }, execute: () => 1 })
  // @ts-expect-error an unknown role
  tool({ name: 't', input: pay, args: { to: 'recipient' }, execute: () => 1 })
  // @ts-expect-error the return value does not match the output schema
  tool({ name: 't', input: pay, output: z.object({ ok: z.boolean() }), execute: () => ({ ok: 'yes' }) })
  // @ts-expect-error the last yielded value does not match the output schema
  tool({ name: 't', input: pay, output: z.object({ ok: z.boolean() }), execute: () => someNumbers() })
  // @ts-expect-error a tool has an input schema
  tool({ name: 't', execute: () => 1 })
  // @ts-expect-error a number is not a schema
  tool({ name: 't', input: 42, execute: () => 1 })
  // @ts-expect-error a function is not a schema
  tool({ name: 't', input: () => ({}), execute: () => 1 })
  // @ts-expect-error only composites spawn
  tool({ name: 't', input: pay, execute: (_, ctx) => ctx.spawn('x') })
  // @ts-expect-error a field is named by a pointer
  tool({ name: 't', input: pay, trustedFields: ['id'], execute: () => 1 })
  // @ts-expect-error an example is an input of the tool
  tool({ name: 't', input: pay, examples: [{ input: { to: 'x' } }], execute: () => 1 })
  // @ts-expect-error an unknown integrity
  tool({ name: 't', input: pay, returns: { integrity: 'safe' }, execute: () => 1 })
}
