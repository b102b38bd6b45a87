// Checked by the compiler alone: what sessions take and give.
import { createAgent, isCallTo, memoryStore, tool, z } from 'provost'
import type {
  AgentStream,
  Message,
  Messages,
  PendingWork,
  RunResult,
  Session,
  SessionStatus,
  ToolContext,
  UsageReport,
} from 'provost'
import { expectTypeOf } from 'vitest'

const refund = tool({ name: 'refund', input: z.object({ amount: z.number() }), execute: ({ amount }) => amount })
const desk = createAgent({ name: 'desk', model: 'openai/gpt', tools: [refund], sendMode: 'queue' })

export async function used(): Promise<void> {
  const session = await desk.createSession({
    id: 's1',
    sendMode: 'queue',
    principal: { id: 'ann' },
    store: memoryStore(),
  })
  expectTypeOf(session).toEqualTypeOf<Session>()
  const chained = session
    .on('tool.call', async (call) => {
      if (isCallTo(call, refund)) {
        expectTypeOf(call.input).toEqualTypeOf<{ amount: number }>()
        return call.input.amount > 100 ? { deny: 'too much' } : { args: { amount: Math.round(call.input.amount) } }
      }
      return call.tool.effect === 'egress' ? { deny: 'no' } : undefined
    })
    .on('tool.call', (call) => (isCallTo(call, refund) ? { args: { ...call.input, timeout: 5 } } : undefined))
    .on('tool.call', ({ input }) => ({ args: { ...input, timeout: 5 } }))
    .on('text.delta', (e) => process.stdout.write(e.delta))
    .on('step.end', ({ usage, cost, finishReason }) => console.log(usage.inputTokens, cost, finishReason))
    .on('tool.approval.requested', async (e) => session.resolve({ approvals: [{ id: e.id, decision: 'deny' }] }))
    .on('*', (e) => console.log(e.type))
  expectTypeOf(chained).toEqualTypeOf<Session>()
  session.send('hello', { mode: 'steer', signal: AbortSignal.timeout(1), to: 'run' })
  expectTypeOf(await session.waitForIdle()).toEqualTypeOf<RunResult | undefined>()
  expectTypeOf(session.stream('go', { maxSteps: 3, onApproval: () => 'approve' })).toEqualTypeOf<AgentStream>()
  expectTypeOf(session.resume({ toolResults: [{ callId: 'c', output: 1 }] })).toEqualTypeOf<AgentStream>()
  expectTypeOf(session.messages).toEqualTypeOf<Messages>()
  expectTypeOf(session.messages[0]).toEqualTypeOf<Message | undefined>()
  session.messages.splice(0, 1)
  session.messages.append({ content: 'x' }, { role: 'assistant', content: [{ type: 'text', text: 'y' }] })
  expectTypeOf(session.messages.transaction((draft) => draft.length)).toEqualTypeOf<number>()
  expectTypeOf(session.status).toEqualTypeOf<SessionStatus>()
  expectTypeOf(session.cost).toEqualTypeOf<number | undefined>()
  expectTypeOf(session.usage).toEqualTypeOf<UsageReport>()
  expectTypeOf(session.pending).toEqualTypeOf<PendingWork>()
  const branch = await session.fork({ at: 'message' })
  expectTypeOf(branch).toEqualTypeOf<Session>()
  console.log(branch.cost, session.messages[0]?.role)
  expectTypeOf(await desk.run('x', { session })).toEqualTypeOf<RunResult>()
  await session.abort({ drain: true })
  await session.reset()
  await session.close()
}

export async function output(): Promise<void> {
  const agent = createAgent({ name: 'a', model: 'openai/gpt', output: z.object({ n: z.number() }) })
  const session = await agent.resumeSession('s1')
  expectTypeOf(session).toEqualTypeOf<Session<{ n: number }>>()
  expectTypeOf(await session.stream('x').output).toEqualTypeOf<{ n: number }>()
  await agent.run('x', { session })
  await agent.createSession({ messages: [{ role: 'user', content: 'of the AI SDK' }, ...session.messages] })
}

export async function app(): Promise<void> {
  interface App {
    readonly db: string
  }
  const look = tool({
    name: 'look',
    input: z.object({}),
    execute: (_: object, { context }: ToolContext<App>) => context.db,
  })
  const agent = createAgent({ name: 'a', model: 'openai/gpt', tools: [look] })
  const session = await agent.createSession({ context: { db: 'x' } })
  session.send('hi')
  await session.stream('x', { context: { db: 'y' } }).result
  await agent.run('x', { session, context: { db: 'z' } })
  // @ts-expect-error the session needs what its tools want
  await agent.createSession({ id: 's' })
  // @ts-expect-error as does one that is opened again
  await agent.resumeSession('s')
}

export async function mistakes(): Promise<void> {
  const session = await desk.createSession()
  // @ts-expect-error there is no such event
  session.on('text.detla', () => {})
  // @ts-expect-error a delta has no text
  session.on('text.delta', (e) => e.text)
  // @ts-expect-error a listener of calls denies or rewrites
  session.on('tool.call', () => ({ allow: true }))
  // @ts-expect-error arguments are an object
  session.on('tool.call', () => ({ args: 'all' }))
  // @ts-expect-error the list is to be read
  session.messages.push({})
  // @ts-expect-error
  session.messages[0] = session.messages[1]
  // @ts-expect-error there are two modes
  session.send('x', { mode: 'now' })
  // @ts-expect-error the session is given by the stream's session
  session.stream('x', { sessionId: 's' })
  // @ts-expect-error a session has one id
  session.id = 'other'
}
