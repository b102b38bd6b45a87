import { createAgent } from '@provost/agent'
import type { AbortOptions, Agent, AgentStream, Orchestrator } from '@provost/agent'
import type { Extension, HookContext, Hooks, Json, OnApproval, PendingWork, SessionStore, Tool } from '@provost/core'
import { defineExtension } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { z } from 'zod'

const input = z.object({ n: z.number() })
type N = z.infer<typeof input>

/** Lets a tool end when the scheduler says so. */
export type Later = <T>(value: T, label: string) => Promise<T>

/** One tool for each way a tool can behave. */
export function zoo(later: Later): readonly Tool[] {
  return [
    tool({ name: 'quick', input, effect: 'read', execute: ({ n }: N) => n + 1 }),
    tool({ name: 'slow', input, effect: 'read', execute: ({ n }: N) => later(`slow ${n}`, `slow ${n}`) }),
    tool({
      name: 'heedful',
      input,
      execute: ({ n }: N, { signal }) =>
        Promise.race([
          later(n, `heedful ${n}`),
          new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        ]),
    }),
    tool({ name: 'alone', input, executionMode: 'sequential', execute: ({ n }: N) => later(n, `alone ${n}`) }),
    tool({
      name: 'drips',
      input,
      async *execute({ n }: N, ctx) {
        for (let i = 0; i <= n % 4; i++) {
          ctx.progress({ i })
          yield await later(`drip ${i} `, `drip ${i}`)
        }
      },
    }),
    tool({
      name: 'fails',
      input,
      execute: async ({ n }: N): Promise<string> => {
        throw new Error(`no ${await later(n, `fails ${n}`)}`)
      },
    }),
    tool({ name: 'deaf', input, timeoutMs: 5, execute: (): Promise<never> => new Promise(() => {}) }),
    tool({ name: 'cyclic', input, execute: () => cycle }),
    tool({ name: 'risky', input, needsApproval: ({ n }) => n % 2 === 0, execute: ({ n }: N) => `risked ${n}` }),
    tool({ name: 'far', input }),
  ]
}
const cycle: Record<string, unknown> = {}
cycle['self'] = cycle

const toolName = fc.constantFrom(
  'quick',
  'slow',
  'slow',
  'heedful',
  'alone',
  'drips',
  'fails',
  'deaf',
  'cyclic',
  'risky',
  'far',
  'missing',
)
const toolCall = fc.record(
  {
    name: toolName,
    input: fc.oneof(
      { weight: 8, arbitrary: fc.record({ n: fc.nat(9) }) },
      fc.constantFrom({ n: 'one' }, {}, null, [], '{"n": 1', 'no JSON', '', '{"__proto__": {"n": 1}}'),
    ),
    // Some providers use one id twice, or none at all.
    id: fc.constantFrom('', 'x', 'x', 'call_0', '../../x', 'long'.repeat(40)),
  },
  { requiredKeys: ['name', 'input'] },
)
const chunk = fc.constantFrom('Let me see. ', 'é', '', 'done', '\n\n', '{"a":')

/** How a model call goes wrong. */
const fault: fc.Arbitrary<Partial<ScriptedStep>> = fc
  .oneof(
    fc.record({ failAfterChunks: fc.nat(4) }),
    fc.record({ stall: fc.constant(true), failAfterChunks: fc.nat(4) }),
    fc.record({ stall: fc.constant('connect' as const) }),
    fc.record({
      error: fc.constantFrom(
        Object.assign(new Error('slow down'), { status: 429 }),
        Object.assign(new Error('bad key'), { status: 401 }),
        new Error('prompt is too long: 9 tokens > 8 maximum'),
        new TypeError('terminated'),
        'a string',
        undefined,
      ),
      failAfterChunks: fc.option(fc.nat(3), { nil: undefined }),
    }),
  )
  .map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)))

const step: fc.Arbitrary<ScriptedStep> = fc
  .tuple(
    fc.array(toolCall, { maxLength: 4 }),
    fc.record(
      {
        text: fc.oneof(chunk, fc.array(chunk, { maxLength: 4 })),
        reasoning: fc.constantFrom<ScriptedStep['reasoning'] & {}>('hm', {
          text: 'signed',
          providerMetadata: { scripted: { signature: 's' } },
        }),
        usage: fc.record({ inputTokens: fc.nat(100), outputTokens: fc.nat(100) }),
        finishReason: fc.constantFrom(
          'stop',
          'stop',
          'length',
          'content-filter',
          'tool-calls',
          'other',
          'error',
          'interrupted',
        ),
      },
      { requiredKeys: [] },
    ),
    fc.oneof({ weight: 8, arbitrary: fc.constant({}) }, fault),
  )
  .map(([toolCalls, said, wrong]) => ({ ...said, toolCalls, ...wrong }))

const hookName = fc.constantFrom<keyof Hooks>(
  'session.start',
  'input',
  'context',
  'model.request',
  'model.error',
  'model.response',
  'tool.call',
  'tool.result',
  'run.end',
  'event',
)

/** What an extension of a random run does. */
export type Meddling =
  | { readonly kind: 'throw'; readonly hook: keyof Hooks; readonly at: number; readonly async: boolean }
  | { readonly kind: 'around'; readonly when: 'before' | 'after' | 'never calls next'; readonly at: number }
  | { readonly kind: 'call'; readonly answers: readonly ('deny' | 'ask' | 'result' | 'args' | 'again' | 'pass')[] }
  | { readonly kind: 'result'; readonly answers: readonly ('relabel' | 'stop' | 'pass')[] }
  | { readonly kind: 'response'; readonly answers: readonly ('replace' | 'repair' | 'stop' | 'ask' | 'pass')[] }
  | {
      readonly kind: 'request'
      readonly answers: readonly ('tail' | 'tools' | 'stop' | 'hold' | 'hold all' | 'pass')[]
    }
  | { readonly kind: 'retry'; readonly times: number }
  | { readonly kind: 'input'; readonly answers: readonly ('rewrite' | 'tail' | 'stop' | 'pass')[] }
  | { readonly kind: 'log'; readonly at: number }

const meddling: fc.Arbitrary<Meddling> = fc.oneof(
  fc.record({ kind: fc.constant('throw' as const), hook: hookName, at: fc.nat(4), async: fc.boolean() }),
  fc.record({
    kind: fc.constant('around' as const),
    when: fc.constantFrom('before', 'after', 'never calls next'),
    at: fc.nat(8),
  }),
  ofAnswers('call', 'deny', 'ask', 'result', 'args', 'again', 'pass', 'pass'),
  ofAnswers('result', 'relabel', 'stop', 'pass', 'pass'),
  ofAnswers('response', 'replace', 'repair', 'stop', 'ask', 'pass', 'pass'),
  ofAnswers('request', 'tail', 'tools', 'stop', 'hold', 'hold all', 'pass'),
  ofAnswers('input', 'rewrite', 'tail', 'stop', 'pass', 'pass', 'pass'),
  fc.record({ kind: fc.constant('retry' as const), times: fc.nat(3) }),
  fc.record({ kind: fc.constant('log' as const), at: fc.nat(12) }),
)

function ofAnswers<K extends string, A extends string>(
  kind: K,
  ...answers: readonly A[]
): fc.Arbitrary<{ readonly kind: K; readonly answers: readonly A[] }> {
  return fc.record({
    kind: fc.constant(kind),
    answers: fc.array(fc.constantFrom(...answers), { minLength: 1, maxLength: 4 }),
  })
}

/** What happens to a run when the n-th event arrives. */
export type Moment = { readonly at: number } & (
  | { readonly kind: 'steer' | 'followUp'; readonly text: string }
  | { readonly kind: 'abort'; readonly options: AbortOptions }
)

const moment: fc.Arbitrary<Moment> = fc.oneof(
  fc.record({
    at: fc.nat(40),
    kind: fc.constantFrom('steer' as const, 'followUp' as const),
    text: fc.constant('and?'),
  }),
  fc.record({
    at: fc.nat(50),
    kind: fc.constant('abort' as const),
    options: fc.record(
      { drain: fc.boolean(), onPendingApprovals: fc.constantFrom('deny', 'hold', 'fail') },
      { requiredKeys: [] },
    ),
  }),
)

/** One random run. */
export interface Script {
  readonly steps: readonly ScriptedStep[]
  readonly extensions: readonly Meddling[]
  readonly moments: readonly Moment[]
  readonly approvals: 'approve' | 'deny' | 'later' | 'throw' | 'never'
  readonly maxSteps: number
  readonly maxParallelTools: number
}

export const script: fc.Arbitrary<Script> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
  extensions: fc.array(meddling, { maxLength: 3 }),
  moments: fc.array(moment, { maxLength: 3 }),
  approvals: fc.constantFrom('approve', 'deny', 'later', 'throw', 'never'),
  maxSteps: fc.integer({ min: 1, max: 9 }),
  maxParallelTools: fc.integer({ min: 1, max: 4 }),
})

/** An agent that follows a script, and a way to put its runs through its moments. */
export interface Actor {
  readonly agent: Agent
  readonly onApproval: OnApproval
  /** Call with a stream before its first event. */
  watch(stream: AgentStream): void
}

/** Answers for everything that a run waits for; the scheduler's choice is not needed, the order is as asked. */
export function answersTo(pending: PendingWork, choice: number): Parameters<AgentStream['resolve']>[0] {
  return {
    approvals: pending.approvals.map(({ id }, index) =>
      (choice + index) % 3 === 0
        ? { id, decision: 'deny' }
        : { id, decision: 'approve', ...((choice + index) % 3 === 1 && { args: { n: 5 } }) },
    ),
    toolResults: pending.remoteCalls.map(({ callId }) => ({ callId, output: choice })).toReversed(),
    uncertain: pending.uncertain.map(({ callId }) => ({ callId, decision: 'fail' })),
  }
}

export function actorOf(play: Script, store: SessionStore, later: Later, orchestrator?: Orchestrator): Actor {
  let watched: AgentStream | undefined
  let count = 0
  const abort = (options: AbortOptions): void => {
    // The promise is for those who wait; what comes of it is in the result.
    void watched?.abort({ graceMs: 1, ...options })
  }
  const puppeteer = defineExtension({
    name: 'puppeteer',
    hooks: {
      event() {
        const now = count++
        for (const one of play.moments) {
          if (one.at !== now) continue
          if (one.kind === 'abort') abort(one.options)
          else watched?.[one.kind](one.text)
        }
      },
    },
  })
  const agent = createAgent({
    name: 'actor',
    instructions: 'Act.',
    model: scriptedModel([...play.steps, { text: 'The end.' }], { after: 'repeat-last' }),
    tools: zoo(later),
    extensions: [puppeteer, ...play.extensions.map(meddle)],
    settings: { stallMs: 5, maxRetries: 0 },
    ...(orchestrator && { orchestrator }),
    maxSteps: play.maxSteps,
    maxParallelTools: play.maxParallelTools,
    store,
  })
  return {
    agent,
    watch: (stream) => void (watched = stream),
    onApproval() {
      switch (play.approvals) {
        case 'approve':
        case 'deny':
          return play.approvals
        case 'later':
          return undefined
        case 'throw':
          throw new Error('no answer')
        case 'never':
          // No answer arrives: the caller aborts.
          setImmediate(abort, {})
          return new Promise(() => {})
        default:
          return play.approvals satisfies never
      }
    },
  }
}

function meddle(what: Meddling, index: number): Extension {
  return defineExtension({ name: `meddler-${index}`, scope: index === 0 ? 'tree' : 'agent', hooks: hooksFor(what) })
}

function hooksFor(what: Meddling): Hooks {
  let n = -1
  const answer = <A extends string>(answers: readonly A[]): A | undefined => answers[++n % answers.length]
  switch (what.kind) {
    case 'throw': {
      const fail = (): never => {
        throw new Error(`${what.hook} is broken`)
      }
      const hook = (): undefined | Promise<undefined> => {
        if (++n !== what.at) return undefined
        return what.async ? Promise.resolve().then(fail) : fail()
      }
      return { [what.hook]: hook }
    }
    case 'around':
      return {
        async around<T>(_: unknown, next: () => Promise<T>): Promise<T> {
          const now = ++n === what.at
          if (now && what.when === 'before') throw new Error('around is broken')
          // A hook in plain JavaScript may give anything.
          if (now && what.when === 'never calls next') return undefined as T
          const value = await next()
          if (now) throw new Error('around is broken')
          return value
        },
      }
    case 'call':
      return {
        'tool.call'(call) {
          switch (answer(what.answers)) {
            case 'deny':
              return { deny: 'not this one' }
            case 'ask':
              return { ask: { reason: 'may it?', evidence: { call: call.callId } } }
            case 'result':
              return { result: 'known already', label: { sources: ['cache'] } }
            case 'args':
              return { args: { n: 2 } }
            case 'again':
              return { args: { n } }
            default:
              return undefined
          }
        },
      }
    case 'result':
      return {
        'tool.result'(result, ctx) {
          switch (answer(what.answers)) {
            case 'relabel':
              return { ...result, label: { ...result.label, confidentiality: 'secret' } }
            case 'stop':
              return ctx.stop('enough', 'Enough.')
            default:
              return undefined
          }
        },
      }
    case 'response':
      return {
        'model.response'(_, ctx) {
          switch (answer(what.answers)) {
            case 'replace':
              return { message: { content: 'Said otherwise.' } }
            case 'repair':
              return { repair: 'Say it again.' }
            case 'stop':
              return ctx.stop('enough', 'Enough.')
            case 'ask':
              return { ask: { reason: 'May it say so?' } }
            default:
              return undefined
          }
        },
      }
    case 'request':
      return {
        'model.request'(_, ctx) {
          switch (answer(what.answers)) {
            case 'tail':
              return { tail: [{ content: 'By the way.' }] }
            case 'tools':
              return { tools: ['quick'] }
            case 'hold':
              return { hold: 'text' }
            case 'hold all':
              return { hold: 'all' }
            case 'stop':
              return ctx.stop('enough', 'Enough.')
            default:
              return undefined
          }
        },
      }
    case 'input':
      return {
        input(_, ctx) {
          switch (answer(what.answers)) {
            case 'rewrite':
              return { message: { content: 'rewritten' } }
            case 'tail':
              return { tail: [{ content: 'context' }] }
            case 'stop':
              return ctx.stop('enough', 'Enough.')
            default:
              return undefined
          }
        },
      }
    case 'retry':
      return { 'model.error': ({ attempt }) => (attempt <= what.times ? { retryAfterMs: 0 } : undefined) }
    case 'log':
      return {
        event: (_, ctx) => (++n === what.at ? write(ctx, n) : undefined),
      }
    default:
      return what satisfies never
  }
}

/** All a hook can do to the log, at once. */
async function write(ctx: HookContext, n: Json): Promise<void> {
  ctx.emit({ n })
  await Promise.all([
    ctx.append('note', { n }),
    ctx.memo('memo', () => n),
    ctx.audit('flagged', { rule: 'r', sources: [], evidence: n }),
  ])
}
