import { createAgent, RunState } from '@provost/agent'
import type { Agent, AgentOptions, ResumeOptions, RunOptions } from '@provost/agent'
import type { AgentEvent, ErrorSource, Extension, HookName, Hooks, SessionStore } from '@provost/core'
import { defineExtension, isRecord } from '@provost/core'
import { modelFallback } from '@provost/provider'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedEntry } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { collect, only } from './run-check.ts'

const look = tool({ name: 'look', input: z.object({}), effect: 'read', execute: () => 'nothing' })
const looking: ScriptedEntry = { toolCalls: [{ name: 'look' }] }
const model = { kind: 'model', name: 'scripted/scripted-model' } as const
const loop = { kind: 'loop', name: 'desk' } as const
const listener = (name: string): ErrorSource => ({ kind: 'listener', name })

const broken = (): never => {
  throw new Error('broken')
}
const refusing = (status: number): ScriptedEntry => ({ error: Object.assign(new Error('no'), { status }) })

/** A store whose appends fail from the nth on, or only the nth. */
function failing(nth: number, most = Number.POSITIVE_INFINITY): SessionStore {
  const store = memoryStore()
  let appends = 0
  return {
    ...store,
    append: async (...args) => (++appends >= nth && appends < nth + most ? broken() : store.append(...args)),
  }
}

interface Cause {
  readonly steps?: readonly ScriptedEntry[]
  readonly agent?: Partial<AgentOptions>
  readonly run?: RunOptions
  readonly source: ErrorSource
  readonly code: string
  /** Named by the hint: the function that threw. */
  readonly hint?: string
  /** Number of calls of `run.end`; 0 where no hook of the run has begun. Default 1. */
  readonly ends?: number
}

const hook = (name: HookName, more: Partial<Cause> = {}): [string, Cause] => {
  const source = { kind: 'hook', name: 'guard' } as const
  const guard = defineExtension({ name: 'guard', hooks: { [name]: broken } })
  return [`the hook ${name}`, { agent: { extensions: [guard] }, source, code: 'hook-failed', ...more }]
}
const guardInit = (init: () => unknown): Extension => defineExtension({ name: 'guard', init })

const causes: readonly [string, Cause][] = [
  ['a model that rejects the key', { steps: [refusing(401)], source: model, code: 'auth' }],
  ['a model that rejects the request', { steps: [refusing(400)], source: model, code: 'invalid-request' }],
  [
    'a fallback without a model left',
    {
      steps: [refusing(529)],
      agent: {
        extensions: [modelFallback([scriptedModel([refusing(529)], { modelId: 'second', after: 'repeat-last' })])],
      },
      source: { kind: 'model', name: 'scripted/second' },
      code: 'models-failed',
    },
  ],
  [
    'a model that cannot be resolved',
    {
      agent: { model: 'nowhere/model-1' },
      source: { kind: 'model', name: 'nowhere/model-1' },
      code: 'provider-not-installed',
    },
  ],
  [
    'an answer that does not fit the output schema',
    {
      steps: [{ text: 'no' }, { text: 'no' }],
      agent: { output: z.object({ ok: z.boolean() }) },
      source: model,
      code: 'output-invalid',
    },
  ],
  [
    'an orchestrator',
    {
      agent: { orchestrator: broken },
      source: { kind: 'orchestrator', name: 'desk' },
      code: 'orchestrator-failed',
      hint: 'orchestrator',
    },
  ],
  [
    'an orchestrator that returns early',
    {
      agent: { orchestrator: async () => {} },
      source: { kind: 'orchestrator', name: 'desk' },
      code: 'orchestrator-unfinished',
    },
  ],
  [
    'an append that fails once',
    { agent: { store: failing(2, 1) }, source: { kind: 'store', name: 'append' }, code: 'store-failed', hint: 'store' },
  ],
  [
    'a store that stays down',
    { agent: { store: failing(2) }, source: { kind: 'store', name: 'append' }, code: 'store-failed', hint: 'store' },
  ],
  [
    'a store that is down from the first append',
    { agent: { store: failing(1) }, source: { kind: 'store', name: 'append' }, code: 'store-failed', hint: 'store' },
  ],
  [
    'a store without a lease',
    {
      agent: { store: { ...memoryStore(), lease: broken } },
      source: { kind: 'store', name: 'lease' },
      code: 'store-failed',
      hint: 'store',
      ends: 0,
    },
  ],
  [
    'a lease of another writer',
    {
      agent: { store: { ...memoryStore(), lease: async () => 'busy' } },
      source: { kind: 'store', name: 'lease' },
      code: 'session-busy',
      ends: 0,
    },
  ],
  [
    'a store that cannot read',
    {
      agent: { store: { ...memoryStore(), read: broken } },
      run: { sessionId: 'known' },
      source: { kind: 'store', name: 'read' },
      code: 'store-failed',
      hint: 'store',
      ends: 0,
    },
  ],
  hook('session.start'),
  hook('input'),
  hook('context'),
  hook('model.request'),
  hook('model.call'),
  hook('model.error', { steps: [refusing(400)] }),
  hook('model.response'),
  [
    'a hook that stops the run, as a budget does',
    {
      agent: {
        extensions: [
          defineExtension({
            name: 'budget',
            hooks: { 'model.request': (_request, ctx) => ctx.stop('budget-exceeded', '$') },
          }),
        ],
      },
      source: { kind: 'hook', name: 'budget' },
      code: 'budget-exceeded',
    },
  ],
  [
    'the instructions',
    { agent: { instructions: broken }, source: { kind: 'hook', name: 'desk' }, code: 'hook-failed' },
  ],
  [
    'an init',
    {
      agent: { extensions: [guardInit(broken)] },
      source: { kind: 'extension', name: 'guard' },
      code: 'init-failed',
      hint: 'init of guard',
    },
  ],
  [
    'an async init',
    {
      agent: { extensions: [guardInit(async () => broken())] },
      source: { kind: 'extension', name: 'guard' },
      code: 'init-failed',
      hint: 'init of guard',
    },
  ],
  [
    'a tool of an extension that cannot be prepared',
    {
      agent: {
        extensions: [
          defineExtension({
            name: 'guard',
            tools: [
              tool({
                name: 'late',
                input: z.object({ n: z.number().refine(async (n) => n > 1) }),
                examples: [{ input: { n: 0 } }],
                execute: () => '',
              }),
            ],
          }),
        ],
      },
      source: { kind: 'extension', name: 'guard' },
      code: 'invalid-tool',
    },
  ],
  [
    'getSteering',
    { run: { getSteering: broken }, source: listener('getSteering'), code: 'callback-failed', hint: 'getSteering' },
  ],
  [
    'getSteering after a tool',
    {
      steps: [looking],
      run: { getSteering: afterFirst([], broken) },
      source: listener('getSteering'),
      code: 'callback-failed',
      hint: 'getSteering',
    },
  ],
  [
    'getFollowUp',
    { run: { getFollowUp: broken }, source: listener('getFollowUp'), code: 'callback-failed', hint: 'getFollowUp' },
  ],
  [
    'convertToModel',
    {
      agent: { convertToModel: broken },
      source: listener('convertToModel'),
      code: 'callback-failed',
      hint: 'convertToModel',
    },
  ],
  ['max-steps', { steps: [looking], agent: { maxSteps: 1 }, source: loop, code: 'max-steps' }],
  ['the byte limit', { agent: { logBytes: 500 }, source: loop, code: 'log-bytes-exceeded' }],
  ['an input without content', { source: loop, code: 'invalid-input' }],
]

function afterFirst<T>(first: T, then: () => T): () => T {
  let calls = 0
  return () => (calls++ === 0 ? first : then())
}

/** What an agent is made from, with an extension before all others that counts its `run.end`. */
function watched({ steps = [{ text: 'ok' }], agent = {} }: Cause): { agent: Agent<unknown>; ends: unknown[] } {
  const ends: unknown[] = []
  const clock = defineExtension({
    name: 'clock',
    init: () => {},
    hooks: { 'run.end': ({ status, error }) => void ends.push([status, error?.code]) },
  })
  const { extensions = [], output: _, ...more } = agent
  const options: AgentOptions = {
    name: 'desk',
    model: scriptedModel([...steps]),
    tools: [look],
    settings: { maxRetries: 0 },
    store: memoryStore(),
    ...more,
    extensions: [clock, ...extensions],
  }
  return { agent: createAgent({ ...options, output: agent.output }), ends }
}

function expectOne(events: readonly AgentEvent[], { source, code, hint }: Cause): void {
  const [reported, ...others] = only(events, 'agent.error')
  expect(others).toEqual([])
  expect(reported).toMatchObject({ source, error: { code } })
  expect(reported?.error.hint ?? '').toContain(hint ?? '')
  const last = events.at(-1)
  expect(last).toMatchObject({ type: 'agent.end', status: 'failed' })
  expect(last?.type === 'agent.end' && last.error).toEqual(reported?.error)
}

describe('the failure of a run is one agent.error with its source, the error of agent.end and of the result:', () => {
  test.each(causes)('%s', async (name, cause) => {
    const { agent, ends } = watched(cause)
    const seen = await collect(agent.stream(name.startsWith('an input') ? '' : 'Go.', cause.run))
    expectOne(seen.events, cause)
    const { status, error } = seen.result
    expect([status, error?.code]).toEqual(['failed', cause.code])
    const thrown = cause.hint === undefined ? new Error('broken') : error?.cause
    expect(thrown).toMatchObject({ message: 'broken' })
    expect(ends).toEqual(Array.from({ length: cause.ends ?? 1 }, () => ['failed', cause.code]))
  })

  const far = tool({ name: 'look', input: z.object({}) })
  const elsewhere = createAgent({ name: 'other', model: scriptedModel([looking]), tools: [far] })

  test.each<
    [string, Partial<AgentOptions>, (state: RunState, agent: Agent<unknown>) => RunState, ResumeOptions, string]
  >([
    [
      'an unknown run',
      {},
      (state, agent) => {
        const { cursor, ...rest }: Record<string, unknown> = JSON.parse(JSON.stringify(state))
        return RunState.fromJSON({ ...rest, cursor: { ...(isRecord(cursor) && cursor), runId: 'unknown' } }, agent)
      },
      {},
      'unknown-run',
    ],
    ['an agent without the tool of an open call', { tools: [] }, (state) => state, {}, 'missing-tool'],
    ['a decision on no wait', {}, (state) => state, { approvals: [{ id: 'x', decision: 'deny' }] }, 'unknown-wait'],
  ])('a resume with %s, which calls no hook', async (_, more, edit, decisions, code) => {
    const store = memoryStore()
    const first = watched({ steps: [looking], agent: { tools: [far], store }, source: loop, code: '' })
    const { state, status } = await first.agent.run('Go.')
    expect(status).toBe('suspended')
    const { agent, ends } = watched({ agent: { tools: [far], store, ...more }, source: loop, code })
    const seen = await collect(agent.stream(edit(state, agent), decisions))
    expectOne(seen.events, { source: loop, code })
    expect(ends).toEqual([])
  })

  test('a resume by another agent, which calls no hook', async () => {
    const { state } = await elsewhere.run('Go.')
    const { agent, ends } = watched({ source: loop, code: '' })
    const seen = await collect(agent.stream(state))
    expectOne(seen.events, { source: loop, code: 'wrong-agent' })
    expect(ends).toEqual([])
  })

  test('a handoff to an agent whose tools collide with an inherited one', async () => {
    const guard = defineExtension({ name: 'guard', scope: 'tree', tools: [look] })
    const own = tool({ name: 'look', input: z.object({}), execute: () => 'other' })
    const target = createAgent({ name: 'target', model: scriptedModel([]), tools: [own], toolCollisions: 'error' })
    const asks = scriptedModel([{ toolCalls: [{ name: 'transfer_to_target' }] }])
    const middle = createAgent({ name: 'middle', model: asks, handoffs: [target] })
    const { agent } = watched({
      steps: [{ toolCalls: [{ name: 'transfer_to_middle' }] }],
      agent: { tools: [], extensions: [guard], handoffs: [middle] },
      source: loop,
      code: '',
    })
    expectOne((await collect(agent.stream('Go.'))).events, {
      source: { ...loop, name: 'middle' },
      code: 'duplicate-tool',
    })
  })
})

describe('a failure that does not end the run is one agent.error too:', () => {
  test.each<[HookName, Hooks]>([
    ['tool.call', { 'tool.call': broken }],
    ['tool.result', { 'tool.result': broken }],
    ['run.end', { 'run.end': broken }],
    ['around', { around: (op, next) => (op.kind === 'run' ? broken() : next()) }],
    ['event', { event: (event) => (event.type === 'agent.start' ? broken() : undefined) }],
  ])('the hook %s', async (name, hooks) => {
    const guard = defineExtension({ name: 'guard', hooks })
    const { agent } = watched({
      steps: [looking, { text: 'ok' }],
      agent: { extensions: [guard] },
      source: loop,
      code: '',
    })
    const { events, result } = await collect(agent.stream('Go.'))
    expect(result.status).toBe('completed')
    const error = { code: 'hook-failed', message: 'broken', hint: `Correct the ${name} hook of guard.` }
    expect(only(events, 'agent.error')).toMatchObject([{ error, source: { kind: 'hook', name: 'guard' } }])
  })

  test('a listener of the session', async () => {
    const { agent, ends } = watched({ source: loop, code: '' })
    const session = await agent.createSession()
    const errors: unknown[] = []
    session.on('agent.start', broken).on('agent.error', ({ source, error }) => errors.push([source, error]))
    session.send('Go.')
    await session.waitForIdle()
    const error = { code: 'callback-failed', message: 'broken', hint: 'Correct the listener agent.start.' }
    expect(errors).toEqual([[{ kind: 'listener', name: 'agent.start' }, error]])
    expect(ends).toEqual([['completed', undefined]])
    await session.close()
  })
})

test('the event of a failed run is in the log: a reader that comes later gets it', async () => {
  const store = memoryStore()
  const { agent } = watched({ steps: [refusing(401)], agent: { store }, source: model, code: 'auth' })
  const { sessionId } = await agent.run('Go.')
  const ended: unknown[] = []
  for await (const entry of store.read(sessionId)) if (entry.type === 'run' && entry.op === 'ended') ended.push(entry)
  expect(ended).toMatchObject([{ status: 'failed', error: { code: 'auth' }, source: model }])
})

test('an init that throws tells the run.end of the extensions whose init was done, and only these', async () => {
  const told: string[] = []
  const of = (name: string, init?: () => unknown): Extension =>
    defineExtension({ name, ...(init && { init }), hooks: { 'run.end': () => void told.push(name) } })
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([{ text: 'ok' }]),
    extensions: [of('first', () => {}), of('second', broken), of('third', () => {}), of('plain')],
  })
  expect((await agent.run('Go.')).status).toBe('failed')
  expect(told).toEqual(['first'])
})

test('a store that fails after a hook has failed is a second failure', async () => {
  const guard = defineExtension({ name: 'guard', hooks: { 'model.request': broken } })
  const { agent, ends } = watched({
    agent: { extensions: [guard], store: failing(2) },
    source: loop,
    code: '',
  })
  const { events } = await collect(agent.stream('Go.'))
  expect(only(events, 'agent.error').map(({ source }) => source)).toEqual([
    { kind: 'store', name: 'append' },
    { kind: 'hook', name: 'guard' },
  ])
  expect(ends).toEqual([['failed', 'hook-failed']])
})

test('run.end runs again when a run whose end was not recorded is resumed', async () => {
  const store = failing(2, 2)
  const { agent, ends } = watched({ steps: [{ text: 'ok' }, { text: 'ok' }], agent: { store }, source: loop, code: '' })
  const { sessionId } = await agent.run('Go.')
  const session = await agent.resumeSession(sessionId)
  expect(session.status).toBe('suspended')
  expect((await session.resume().result).status).toBe('completed')
  expect(ends).toEqual([
    ['failed', 'store-failed'],
    ['completed', undefined],
  ])
  await session.close()
})
