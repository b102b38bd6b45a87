// Checked by the compiler alone: an agent asks for an app value exactly when a tool or an extension of it wants one.
import { createAgent, defineExtension, handoff, RunState, tool, z } from 'provost'
import type { Agent, ContextOf, Extension, HandoffTarget, HookContext, Tool, ToolContext } from 'provost'
import { expectTypeOf } from 'vitest'

interface Db {
  readonly db: { get(id: string): string }
}
interface User {
  readonly user: string
}
declare const db: Db['db']

const plain = tool({ name: 'plain', input: z.object({}), execute: () => 1 })
const lookup = tool({
  name: 'lookup',
  input: z.object({ id: z.string() }),
  execute: ({ id }, ctx: ToolContext<Db>) => ctx.context.db.get(id),
})
const asking = tool({
  name: 'asking',
  input: z.object({}),
  needsApproval: (_, ctx: HookContext<User>) => ctx.context.user !== 'root',
  execute: () => 1,
})
const greeting = defineExtension({
  name: 'greeting',
  hooks: { 'session.start': (ctx: HookContext<User>) => `You serve ${ctx.context.user}.` },
})
const quiet = defineExtension({ name: 'quiet', hooks: { 'run.end': ({ status }) => void status } })

expectTypeOf<ContextOf<typeof plain>>().toEqualTypeOf<unknown>()
expectTypeOf<ContextOf<typeof lookup>>().toEqualTypeOf<Db>()
expectTypeOf<ContextOf<typeof asking>>().toEqualTypeOf<User>()
expectTypeOf<ContextOf<typeof greeting>>().toEqualTypeOf<User>()
expectTypeOf<ContextOf<typeof lookup | typeof plain | typeof greeting>>().toEqualTypeOf<Db & User>()
// Tools of an extension are its own wishes.
expectTypeOf(defineExtension({ name: 'x', tools: [plain, lookup] })).toEqualTypeOf<Extension<Db>>()

const base = { name: 'desk', model: 'openai/gpt-5' } as const
expectTypeOf(createAgent({ ...base })).toEqualTypeOf<Agent>()
expectTypeOf(createAgent({ ...base, tools: [plain], extensions: [quiet] })).toEqualTypeOf<Agent>()
expectTypeOf(createAgent({ ...base, tools: [plain, lookup] })).toEqualTypeOf<Agent<string, Db>>()
expectTypeOf(createAgent({ ...base, tools: [lookup], extensions: [quiet, greeting] })).toEqualTypeOf<
  Agent<string, Db & User>
>()

// Defined where they are used: the place does not take part in what they want.
const inline = createAgent({
  ...base,
  tools: [
    tool({
      name: 'inline',
      input: z.object({ n: z.number() }),
      execute: ({ n }, ctx) => {
        expectTypeOf(ctx).toEqualTypeOf<ToolContext>()
        return n + 1
      },
    }),
  ],
  extensions: [
    defineExtension({
      name: 'inline',
      hooks: { event: (_, ctx) => expectTypeOf(ctx).toEqualTypeOf<HookContext>() },
    }),
  ],
})
expectTypeOf(inline).toEqualTypeOf<Agent>()
const inlineWanting = createAgent({
  ...base,
  tools: [tool({ name: 'inline', input: z.object({}), execute: (_, ctx: ToolContext<User>) => ctx.context.user })],
})
expectTypeOf(inlineWanting).toEqualTypeOf<Agent<string, User>>()

// The context type of a child or a handoff target becomes part of the context type of its caller.
const clerk = createAgent({ ...base, name: 'clerk', tools: [lookup] })
const asTool = createAgent({ ...base, tools: [clerk.toTool({ name: 'ask', description: 'Ask.' })] })
expectTypeOf(asTool).toEqualTypeOf<Agent<string, Db>>()
expectTypeOf(createAgent({ ...base, handoffs: [clerk] })).toEqualTypeOf<Agent<string, Db>>()
expectTypeOf(createAgent({ ...base, extensions: [greeting], handoffs: [handoff(clerk)] })).toEqualTypeOf<
  Agent<string, Db & User>
>()
expectTypeOf(createAgent({ ...base, handoffs: [createAgent({ ...base, name: 'b' })] })).toEqualTypeOf<Agent>()
// What a list does not say, and what a function gives later, is for you to know.
const targets: HandoffTarget[] = [clerk]
expectTypeOf(createAgent({ ...base, handoffs: targets })).toEqualTypeOf<Agent>()
expectTypeOf(createAgent({ ...base, handoffs: () => [clerk] })).toEqualTypeOf<Agent>()

// Lists made elsewhere keep what they know; one of plain `Tool`s knows nothing and asks for nothing.
const list = [plain, lookup]
expectTypeOf(createAgent({ ...base, tools: list })).toEqualTypeOf<Agent<string, Db>>()
expectTypeOf(createAgent({ ...base, tools: process.env['DB'] ? [lookup] : [] })).toEqualTypeOf<Agent<string, Db>>()
const bare: Tool[] = [plain, lookup]
expectTypeOf(createAgent({ ...base, tools: bare })).toEqualTypeOf<Agent>()

// A question before the call that does not say what it wants leaves that to `execute`; both may want something.
const unsaid = tool({
  name: 'unsaid',
  input: z.object({ sum: z.number() }),
  needsApproval: ({ sum }, ctx) => sum > 10 && ctx.principal?.id !== 'root',
  execute: ({ sum }, ctx: ToolContext<Db>) => ctx.context.db.get(`${sum}`),
})
const both = tool({
  name: 'both',
  input: z.object({}),
  needsApproval: (_, ctx: HookContext<User>) => ({ reason: `${ctx.context.user} asks` }),
  execute: (_, ctx: ToolContext<Db>) => ctx.context.db.get(''),
})
expectTypeOf<ContextOf<typeof unsaid>>().toEqualTypeOf<Db>()
expectTypeOf<ContextOf<typeof both>>().toEqualTypeOf<Db & User>()

// Said once for all hooks of an extension, whatever their order.
const first = defineExtension({
  name: 'first',
  hooks: { 'session.start': (ctx: HookContext<User>) => ctx.context.user, event: (_, ctx) => ctx.context.user },
})
const forAll = defineExtension<User>({
  name: 'for-all',
  hooks: { event: (_, ctx) => ctx.agent.name, 'session.start': (ctx) => ctx.context.user },
})
expectTypeOf(first).toEqualTypeOf<Extension<User>>()
expectTypeOf(forAll).toEqualTypeOf<Extension<User>>()

// `instructions` sees what the tools and extensions want.
createAgent({ ...base, tools: [lookup], instructions: (ctx) => ctx.context.db.get('instructions') })

// Any agent, for those who do not run it.
export function nameOf(agent: Agent<unknown, never>): string {
  return agent.name
}
nameOf(inline)
nameOf(createAgent({ ...base, tools: [lookup], output: z.object({ n: z.number() }) }))

export async function needed(): Promise<void> {
  const agent = createAgent({ ...base, tools: [lookup], extensions: [greeting] })
  const { state } = await agent.run('hi', { context: { db, user: 'ann' } })
  // It is never stored, so it is asked for again.
  await agent.run(RunState.fromJSON(state.toJSON(), agent), { approvals: [], context: { db, user: 'ann' } })
  // @ts-expect-error none given
  await agent.run('hi')
  // @ts-expect-error none given
  agent.stream('hi', { maxSteps: 3 })
  // @ts-expect-error half of it
  await agent.run('hi', { context: { db } })
  // @ts-expect-error of the wrong shape
  await agent.run('hi', { context: { db: 1, user: 'ann' } })
  // @ts-expect-error none given on resuming
  await agent.run(state, { approvals: [] })
}
