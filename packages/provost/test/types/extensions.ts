// Checked by the compiler alone: every hook with each answer it may give, and what a hook is given.
import { createAgent, defineExtension, z } from 'provost'
import type {
  Agent,
  Answer,
  Entry,
  Extension,
  Flow,
  Fold,
  HookContext,
  HookName,
  Hooks,
  TimedOperation,
  ToolResult,
} from 'provost'
import { expectTypeOf } from 'vitest'

const durations: Fold<number> = {
  key: 'durations',
  initial: 0,
  apply: (sum, entry) => (entry.type === 'call' && entry.op === 'settled' ? sum + entry.durationMs : sum),
}

const everything = defineExtension({
  name: 'everything',
  scope: 'tree',
  skills: [{ name: 'sql', when: 'figures are asked for', content: async () => 'Use SELECT.' }],
  init: ({ name, tools }) => void [name, tools],
  hooks: {
    'session.start': async (ctx) => [{ role: 'system', content: `You are ${ctx.agent.name}.` }],
    input: (message, ctx) => (message.role === 'user' ? { tail: [{ content: `It is ${ctx.now()}.` }] } : undefined),
    context: ({ messages, tokens }) => {
      const [first, last] = [messages[1], messages.at(-3)]
      return tokens > 1e5 && first && last ? { from: first.id, to: last.id, with: [{ content: 'summary' }] } : undefined
    },
    'model.request': (request, ctx) => {
      if (ctx.fold(durations) > 60_000) return ctx.stop('too-slow', 'The tools took more than a minute.')
      return { tools: request.tools.map(({ name }) => name), model: 'openai/gpt-5', params: { seed: 1 }, hold: 'text' }
    },
    'model.error': (failure) =>
      failure.class === 'rate-limit' && failure.attempt === 1
        ? { retryAfterMs: failure.retryAfterMs ?? 500 }
        : { useModel: 'openai/gpt-5' },
    'model.response': async (message, ctx) => {
      if ((await ctx.memo('seen', () => message.content.length)) === 0) return { repair: 'Say something.' }
      return message.partial ? { ask: { reason: 'half an answer', sticky: 'session' } } : undefined
    },
    async 'tool.call'(call, ctx) {
      if (ctx.approval?.decision === 'approve') return undefined
      await ctx.audit('flagged', {
        rule: 'all',
        callId: call.callId,
        sources: call.label.sources,
        evidence: call.input,
      })
      const { output } = await ctx.generate({ prompt: 'Is this fine?', output: z.object({ fine: z.boolean() }) })
      expectTypeOf(output).toEqualTypeOf<{ fine: boolean }>()
      const { output: text } = await ctx.generate({ prompt: [{ content: 'Sure?' }], system: 'Be strict.' })
      expectTypeOf(text).toEqualTypeOf<string>()
      return output.fine ? { result: { cached: text }, label: { integrity: 'trusted' } } : { deny: 'no' }
    },
    'tool.result': (result) => {
      expectTypeOf(result).toEqualTypeOf<ToolResult>()
      return { ...result, label: { ...result.label, integrity: 'trusted' } }
    },
    handoff: (flow) => {
      expectTypeOf(flow).toEqualTypeOf<Flow>()
      return flow.label.confidentiality === 'secret'
        ? { deny: 'secrets stay here' }
        : { payload: [{ content: 'hello' }] }
    },
    merge: (children) => children.filter(({ label }) => label.integrity === 'trusted'),
    'run.end': ({ status, error }, ctx) => ctx.append(status, error ?? null),
    'session.stop': (ctx) => ctx.session.id,
    event: (event, ctx) => {
      if (event.type === 'text.delta') ctx.emit({ length: event.delta.length })
      if (event.type === 'text.end') ctx.emit('source.cited', { messageId: event.messageId, attempt: 1, url: 'x:y' })
    },
    around: async (op, next, ctx) => {
      expectTypeOf(op).toEqualTypeOf<TimedOperation>()
      const name = op.kind === 'tool' ? op.toolName : op.kind === 'model' ? op.model : op.kind
      const value = await next()
      ctx.emit(name)
      return value
    },
  },
})
expectTypeOf(everything).toEqualTypeOf<Extension<unknown>>()
expectTypeOf(createAgent({ name: 'a', model: 'openai/gpt-5', extensions: [everything] })).toEqualTypeOf<Agent>()

// It has every hook of the table, so that a new one is missed here.
expectTypeOf<keyof Required<Hooks>>().toEqualTypeOf<HookName>()

// A hook written apart from its extension.
const deny: Hooks['tool.call'] = (call) => (call.tool.remote ? { deny: 'not far away' } : undefined)
export const apart: Extension<unknown> = defineExtension({ name: 'apart', hooks: { 'tool.call': deny } })
export type Looks = Answer<{ deny: string }>

// Entries narrow by type and op.
export function tokenOf(entry: Entry): string | undefined {
  if (entry.type === 'wait' || entry.type === 'resolved') return entry.token
  if (entry.type === 'run' && entry.op === 'ended')
    expectTypeOf(entry.status).toEqualTypeOf<'completed' | 'failed' | 'aborted'>()
  return undefined
}

// Generic code over hooks of any app value.
export function describe(ctx: HookContext): string {
  return `${ctx.run.id} ${ctx.run.step} ${ctx.intent.length} ${ctx.view.tokens} ${ctx.tools.length} ${ctx.signal.aborted}`
}
