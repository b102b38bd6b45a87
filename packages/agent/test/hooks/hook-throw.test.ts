import { createAgent, handoff, onThrow } from '@provost/agent'
import type { ThrowMeaning } from '@provost/agent'
import type { Extension, FlowKind, HookName, Hooks } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { fannedOut } from '../children/fan-out-world.ts'
import { askedModel, entriesOf, extension } from './hook-scenario.ts'

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const never = (): Promise<never> => new Promise(() => {})

/** How a hook fails. */
const ways: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw new Error('broken')
  },
  rejects: () => Promise.reject(new Error('broken')),
  'throws a revoked proxy': () => {
    throw revoked()
  },
  'rejects with a revoked proxy': async () => Promise.reject(revoked()),
  'answers with a revoked proxy': revoked,
  'answers with a promise of a revoked proxy': async () => revoked(),
  'does not answer in time': never,
}

/** What is left of a hook that failed, and of a hook of the same name after it. */
interface Failed {
  readonly status: string
  readonly code?: string | undefined
  /** Number of calls of the hook after the failed one. */
  readonly later: number
  /** Extensions that `agent.error` names. */
  readonly reported: ReadonlySet<string>
  /** Whether the effect that the hook checks took place. */
  readonly effect: boolean
}

/** A world in which a hook fails: what it prevents, and how the application sees it. */
type World = (way: () => unknown) => Promise<Failed>

interface Watched {
  readonly extensions: readonly Extension[]
  readonly reported: Set<string>
  later(): number
}

/** An extension whose hook fails, one that counts its calls after it, and one that hears of errors. */
function watched(name: HookName, way: () => unknown, fails: (first: unknown) => boolean = () => true): Watched {
  const reported = new Set<string>()
  let later = 0
  const count = (first: unknown, next: unknown): unknown => {
    if (fails(first)) later++
    return name === 'around' && typeof next === 'function' ? next() : undefined
  }
  const hear: Hooks = {
    event: (event) =>
      void (event.type === 'agent.error' && event.source.kind === 'hook' && reported.add(event.source.name)),
  }
  const of = (label: string, hooks: object): Extension => defineExtension({ name: label, scope: 'tree', hooks })
  return {
    extensions: [
      of('broken', { [name]: (first: unknown) => (fails(first) ? way() : undefined) }),
      of('later', { [name]: count }),
      of('hearing', hear),
    ],
    reported,
    later: () => later,
  }
}

const limits = (way: () => unknown) => ({ hookTimeoutMs: way === never ? 20 : Number.POSITIVE_INFINITY })

/** One run that calls a tool. The effect is the tool, or what it returned in the log. */
function run(name: HookName, effect: 'model' | 'tool' | 'result' = 'tool'): World {
  return async (way) => {
    const { extensions, reported, later } = watched(name, way)
    let asked = 0
    let paid = 0
    const pay = tool({ name: 'pay', input: z.object({}), execute: () => `paid ${++paid}` })
    const store = memoryStore()
    const agent = createAgent({
      name: 'a',
      store,
      model: scriptedModel([
        () => (asked++, name === 'model.error' ? { error: new Error('down') } : { toolCalls: [{ name: 'pay' }] }),
        { text: 'done' },
      ]),
      tools: [pay],
      extensions,
      settings: { maxRetries: 0 },
      ...limits(way),
    })
    const { status, error, sessionId } = await agent.run('go')
    const log = JSON.stringify(await entriesOf(store, sessionId))
    const effects = { model: asked > 0, tool: paid > 0, result: log.includes('paid 1') }
    return { status, code: error?.code, later: later(), reported, effect: effects[effect] }
  }
}

/** A flow of one kind. The effect is a message that reaches the other side. */
function flow(kind: FlowKind): World {
  return async (way) => {
    const { extensions, reported, later } = watched('handoff', way, (of) => (of as { kind: FlowKind }).kind === kind)
    let reached = false
    const child = createAgent({
      name: 'child',
      model: scriptedModel([() => ((reached = true), { text: 'the secret' })], { after: 'repeat-last' }),
    })
    const isIn = kind === 'transfer' || kind.endsWith('-in')
    const call = kind === 'tool-in' || kind === 'tool-out' ? 'ask' : 'transfer_to_child'
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([
        { toolCalls: [{ name: call, input: call === 'ask' ? { task: 'go' } : {} }] },
        { text: 'done' },
      ]),
      tools: [child.toTool({ name: 'ask', description: 'Asks.' })],
      handoffs: [handoff(child, { mode: kind === 'return' ? 'return' : 'transfer' })],
      extensions,
      ...limits(way),
    })
    if (kind.startsWith('fanout')) {
      const { children } = await fannedOut(
        { children: [{ agent: child, input: 'go' }], mergeStrategy: allOf },
        { agent },
      )
      const text = JSON.stringify(children)
      const effect = isIn ? reached : text.includes('the secret')
      return { status: children[0]?.status === 'failed' ? 'completed' : 'bypassed', later: later(), reported, effect }
    }
    const { status, messages } = await agent.run('go')
    const effect = isIn ? reached : JSON.stringify(messages).includes('the secret')
    return { status, later: later(), reported, effect }
  }
}

const allOf = { kind: 'custom', merge: () => 'merged' } as const

const merge: World = async (way) => {
  const { extensions, reported, later } = watched('merge', way)
  let merged = false
  const agent = createAgent({ name: 'a', model: scriptedModel([]), extensions, ...limits(way) })
  const child = createAgent({ name: 'c', model: scriptedModel([{ text: 'one' }]) })
  const done = fannedOut(
    { children: [{ agent: child, input: 'go' }], mergeStrategy: { kind: 'custom', merge: () => (merged = true) } },
    { agent },
  )
  const code = await done.then(
    () => undefined,
    (thrown: { readonly code: string }) => thrown.code,
  )
  return { status: code === undefined ? 'completed' : 'rejected', code, later: later(), reported, effect: merged }
}

const stop: World = async (way) => {
  const { extensions, reported, later } = watched('session.stop', way)
  const agent = createAgent({ name: 'a', model: scriptedModel([]), extensions, ...limits(way) })
  const session = await agent.createSession()
  const errors = await session.close().then(
    () => [],
    (thrown: AggregateError) => thrown.errors,
  )
  return { status: errors.length === 1 ? 'rejected' : 'closed', later: later(), reported, effect: true }
}

/** The worlds of each hook, by their names. The type names every hook. */
const worlds: Readonly<Record<HookName, Readonly<Record<string, World>>>> = {
  'session.start': { 'a run': run('session.start', 'model') },
  'run.start': { 'a run': run('run.start', 'model') },
  input: { 'a run': run('input', 'model') },
  context: { 'a run': run('context', 'model') },
  'model.request': { 'a run': run('model.request', 'model') },
  'model.call': { 'a run': run('model.call', 'model') },
  'model.error': { 'a run': run('model.error') },
  'model.response': { 'a run': run('model.response') },
  'tool.call': { 'a run': run('tool.call') },
  'tool.result': { 'a run': run('tool.result', 'result') },
  handoff: {
    'a transfer': flow('transfer'),
    'a return': flow('return'),
    'the input of a tool': flow('tool-in'),
    'the answer of a tool': flow('tool-out'),
    'the input of a fan-out': flow('fanout-in'),
    'the answer of a fan-out': flow('fanout-out'),
  },
  merge: { 'a fan-out': merge },
  'run.end': { 'a run': run('run.end') },
  'session.stop': { 'a session': stop },
  event: { 'a run': run('event') },
  around: { 'a run': run('around') },
}

/** What each meaning of the table promises. */
const promises: Readonly<Record<ThrowMeaning, object>> = {
  'fail-run': { status: 'failed', code: 'hook-failed', later: 0, reported: new Set(['broken']), effect: false },
  reject: { status: 'rejected', code: 'hook-failed', later: 0, reported: new Set(['broken']), effect: false },
  deny: { status: 'completed', later: 0, reported: new Set(['broken']), effect: false },
  withhold: { status: 'completed', later: 1, reported: new Set(['broken']), effect: false },
  collect: { status: 'rejected', later: 1, reported: new Set(), effect: true },
  report: {
    status: 'completed',
    later: expect.toSatisfy((n: number) => n > 0),
    reported: new Set(['broken']),
    effect: true,
  },
}

/** The run waits for neither of these hooks, so they have no time limit. */
const unlimited: readonly HookName[] = ['around', 'event']

const invalid: Readonly<Record<string, () => unknown>> = {
  'answers with a number': () => 1,
  'answers with a promise of a number': async () => 1,
}

const unknown: Readonly<Record<string, () => unknown>> = {
  'answers with an unknown object': () => ({ refuse: true }),
  'answers with a promise of an unknown object': async () => ({ refuse: true }),
}

/** All members of these answers are optional. */
const lenient: readonly HookName[] = ['input', 'model.request', 'model.call']

/** Answers of `run.end`, `event`, `around` and `session.stop` hooks are ignored. */
function waysOf(name: HookName): readonly (readonly [string, () => unknown])[] {
  const decides = onThrow[name] !== 'report' && onThrow[name] !== 'collect'
  const all = { ...ways, ...(decides && invalid), ...(decides && !lenient.includes(name) && unknown) }
  return Object.entries(all).filter(([, way]) => way !== never || !unlimited.includes(name))
}

const hooks = Object.keys(onThrow) as HookName[]

describe.each(hooks)('a %s hook that', (name) => {
  const rows = Object.entries(worlds[name]).flatMap(([where, world]) =>
    waysOf(name).map(([how, way]) => [how, where, way, world] as const),
  )
  test.each(rows)(`%s, in %s: ${onThrow[name]}`, async (_how, _where, way, world) => {
    expect(await world(way)).toMatchObject(promises[onThrow[name]])
  })
})

describe('a function of an agent that returns the wrong type', () => {
  test.each([
    ['instructions', { instructions: returning(17) }, 'instructions returned a value of type number'],
    ['instructions', { instructions: async () => returning(undefined)() }, 'a value of type undefined'],
    [
      'when',
      { skills: [{ name: 's', when: returning(17), description: 'S.', content: 'S.' }] },
      '"when" of skill s returned a value of type number',
    ],
  ])('fails the run: %s', async (_, options, message) => {
    const { error } = await createAgent({ name: 'a', model: askedModel([], [{ text: 'hi' }]), ...options }).run('go')
    expect(error).toMatchObject({ code: 'hook-failed', message: expect.stringContaining(message) })
  })
})

describe('the stop of a hook', () => {
  test.each([
    ['the hint that it gives', 'Come back tomorrow.', 'Come back tomorrow.'],
    ['a hint that names the extension', undefined, 'The extension guard ended the run: check its options.'],
  ])('ends the run with %s', async (_, hint, expected) => {
    const guard = extension('guard', {
      'model.request': (_request, ctx) => ctx.stop('closed', 'It is closed.', hint),
    })
    const agent = createAgent({ name: 'a', model: askedModel([], [{ text: 'hi' }]), extensions: [guard] })
    expect((await agent.run('go')).error).toMatchObject({ code: 'closed', message: 'It is closed.', hint: expected })
  })
})

/** A function as JavaScript may give it. */
function returning(value: unknown): () => never {
  return () => value as never
}
