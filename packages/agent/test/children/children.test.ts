import { createAgent, RunState } from '@provost/agent'
import type { Agent, AgentStream } from '@provost/agent'
import { defineExtension, textOf } from '@provost/core'
import type { AgentEvent, Label, PendingApproval, RunResult, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound, only, readLog } from '../run/run-check.ts'

const usage = { inputTokens: 10, outputTokens: 5 }

function answering(name: string, text = `${name} says so`, modelId = name): Agent {
  return createAgent({
    name,
    model: scriptedModel([{ text, usage }], { provider: 'scripted', modelId, after: 'repeat-last' }),
  })
}

/** Goes by what it is sent, so that it goes on in any process. */
function thenText(modelId: string, first: ScriptedStep, text: string): ReturnType<typeof scriptedModel> {
  const step = ({ messages }: ScriptedPrompt): ScriptedStep =>
    JSON.stringify(messages.at(-1)).includes('"role":"tool"') ? { text, usage } : first
  return scriptedModel([step], { provider: 'scripted', modelId, after: 'repeat-last' })
}

function calling(...names: readonly string[]): ReturnType<typeof scriptedModel> {
  const toolCalls = names.map((name) => ({ name, input: { task: `do ${name}` } }))
  return thenText('root', { toolCalls, usage }, 'done')
}

async function childLogs(store: SessionStore, sessionId: string): Promise<readonly string[]> {
  const entries = await readLog(store, sessionId)
  return entries.flatMap((entry) => (entry.type === 'child' && entry.op === 'spawned' ? [entry.log] : []))
}

test('an agent is a tool of another: it runs in a log of its own, and its events stream to the caller', async () => {
  const store = memoryStore()
  const lawyer = answering('lawyer')
  const root = createAgent({
    name: 'root',
    model: calling('ask'),
    tools: [lawyer.toTool({ name: 'ask', description: 'Ask the lawyer.' })],
    store,
  })
  const seen = await collect(root.stream('Is it legal?'))
  expectSound({ ...seen, events: own(seen.events, seen.runId) })
  expect(seen.result.status).toBe('completed')
  const [told] = only(seen.events, 'tool.execute.end')
  expect(told?.output).toEqual({ type: 'text', value: 'lawyer says so' })
  const inner = seen.events.filter(({ agent }) => agent === 'lawyer')
  expect(inner.at(0)?.type).toBe('agent.start')
  expect(inner.at(-1)?.type).toBe('agent.end')
  expect(new Set(inner.map(({ parents }) => parents.join()))).toEqual(new Set([seen.runId]))
  expect(seen.events.map(({ seq }) => seq)).toEqual(seen.events.map((_, index) => index + 1))
  const [log = ''] = await childLogs(store, seen.result.sessionId)
  const entries = await readLog(store, log)
  expect(entries.at(0)).toMatchObject({ type: 'run', parent: { log: seen.result.sessionId, runId: seen.runId } })
  await expectLogged(store, seen.result)
})

function own(events: readonly AgentEvent[], runId: string): readonly AgentEvent[] {
  return events
    .filter((event) => event.runId === runId)
    .map((event, index) => Object.freeze({ ...event, seq: index + 1 }))
}

test('what children use counts for the run above, by model too', async () => {
  const root = createAgent({
    name: 'root',
    model: calling('a', 'b'),
    tools: [
      answering('a').toTool({ name: 'a', description: 'a' }),
      answering('b').toTool({ name: 'b', description: 'b' }),
    ],
    prices: {
      'scripted/root': { input: 1, output: 1 },
      'scripted/a': { input: 1, output: 1 },
      'scripted/b': { input: 1, output: 1 },
    },
  })
  const result = await root.run('go')
  expect(result.usage).toMatchObject({ inputTokens: 40, outputTokens: 20 })
  expect(Object.keys(result.usage.byModel).toSorted()).toEqual(['scripted/a', 'scripted/b', 'scripted/root'])
  expect(result.cost).toBeCloseTo(60e-6)
})

test('children of one step run at the same time', async () => {
  let [alive, most] = [0, 0]
  const gate = Promise.withResolvers<void>()
  const slow = (name: string): Agent =>
    createAgent({
      name,
      model: scriptedModel([{ toolCalls: [{ name: 'meet', input: {} }] }, { text: name }]),
      tools: [
        tool({
          name: 'meet',
          input: z.object({}),
          async execute() {
            most = Math.max(most, ++alive)
            if (alive === 3) gate.resolve()
            await gate.promise
            alive--
            return 'met'
          },
        }),
      ],
    })
  const names = ['a', 'b', 'c']
  const root = createAgent({
    name: 'root',
    model: calling(...names),
    tools: names.map((name) => slow(name).toTool({ name, description: name })),
  })
  expect((await root.run('go')).status).toBe('completed')
  expect(most).toBe(3)
})

function payer(paid: string[]): Agent {
  return createAgent({
    name: 'payer',
    model: thenText('payer', { toolCalls: [{ name: 'pay', input: { euros: 80 } }], usage }, 'paid'),
    tools: [
      tool({
        name: 'pay',
        input: z.object({ euros: z.number() }),
        needsApproval: true,
        execute({ euros }) {
          paid.push(`${euros}`)
          return 'ok'
        },
      }),
    ],
  })
}

/** Agents that are tools of each other, `depth` deep; the last one pays. */
function chain(depth: number, paid: string[], store: SessionStore): Agent {
  let agent = payer(paid)
  for (let level = 1; level < depth; level++) {
    agent = createAgent({
      name: `level ${depth - level}`,
      model: calling('next'),
      tools: [agent.toTool({ name: 'next', description: 'next' })],
      store,
    })
  }
  return agent
}

test.for([2, 3, 5])(
  'what a child waits for, %i deep, stands in the outermost run, and continues in another process',
  async (depth) => {
    const paid: string[] = []
    const store = memoryStore()
    const seen = await collect(chain(depth, paid, store).stream('pay'))
    expect(seen.result.status).toBe('suspended')
    const [approval] = seen.result.pending.approvals
    expect(approval).toMatchObject({ toolName: 'pay', input: { euros: 80 }, agent: 'payer' })
    expect(approval?.runPath).toHaveLength(depth)
    expect(approval?.runPath[0]).toBe(seen.runId)
    expect(only(seen.events, 'tool.approval.requested')).toHaveLength(1)
    expect(seen.result.usage.inputTokens).toBe(10 * depth)
    // Another process, and another store: all is in the state.
    const elsewhere = chain(depth, paid, memoryStore())
    const state = RunState.fromJSON(JSON.stringify(seen.result.state), elsewhere)
    const resumed = await elsewhere.run(state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect(resumed.error).toBeUndefined()
    expect(resumed.status).toBe('completed')
    expect(paid).toEqual(['80'])
    expect(resumed.usage.inputTokens).toBe(20 * depth)
    assertWellFormed(resumed.messages)
  },
)

test('what a child waits for is answered in place while another child continues', async () => {
  const paid: string[] = []
  const gate = Promise.withResolvers<void>()
  const busy = createAgent({
    name: 'busy',
    model: scriptedModel([{ toolCalls: [{ name: 'work', input: {} }] }, { text: 'worked' }]),
    tools: [
      tool({
        name: 'work',
        input: z.object({}),
        async execute() {
          await gate.promise
          return 'ok'
        },
      }),
    ],
  })
  const root = createAgent({
    name: 'root',
    model: calling('pay', 'busy'),
    tools: [
      payer(paid).toTool({ name: 'pay', description: 'pay' }),
      busy.toTool({ name: 'busy', description: 'busy' }),
    ],
  })
  const stream = root.stream('go')
  for await (const event of stream) {
    if (event.type === 'tool.approval.requested')
      await stream.resolve({ approvals: [{ id: event.token, decision: 'approve' }] })
    if (event.type === 'tool.execute.end' && event.toolName === 'pay' && event.agent === 'payer') gate.resolve()
  }
  const result = await stream.result
  expect(result.status).toBe('completed')
  expect(paid).toEqual(['80'])
})

test('onApproval of the outermost run is asked for the calls of children', async () => {
  const paid: string[] = []
  const asked: PendingApproval[] = []
  const root = createAgent({
    name: 'root',
    model: calling('pay'),
    tools: [payer(paid).toTool({ name: 'pay', description: 'pay' })],
  })
  const result = await root.run('go', {
    onApproval: (approval) => {
      asked.push(approval)
      return 'approve'
    },
  })
  expect(result.status).toBe('completed')
  expect(asked.map(({ agent }) => agent)).toEqual(['payer'])
  expect(paid).toEqual(['80'])
})

test('an abort reaches children, and a child that ignores its signal delays no other', async () => {
  let heard: AbortSignal | undefined
  const started = Promise.withResolvers<void>()
  const deaf = createAgent({
    name: 'deaf',
    model: scriptedModel([{ toolCalls: [{ name: 'hang', input: {} }], usage }, { text: 'never' }]),
    tools: [
      tool({
        name: 'hang',
        input: z.object({}),
        execute(_, ctx) {
          heard = ctx.signal
          started.resolve()
          return new Promise<string>(() => {})
        },
      }),
    ],
  })
  const store = memoryStore()
  const root = createAgent({
    name: 'root',
    model: calling('deaf'),
    tools: [deaf.toTool({ name: 'deaf', description: 'deaf' })],
    store,
  })
  const stream = root.stream('go')
  await started.promise
  await stream.abort()
  const result = await stream.result
  expect(result.status).toBe('aborted')
  expect(heard?.aborted).toBe(true)
  assertWellFormed(result.messages)
  const [log = ''] = await childLogs(store, result.sessionId)
  expect((await readLog(store, log)).at(-1)).toMatchObject({ type: 'run', op: 'ended', status: 'aborted' })
  expect(result.usage.inputTokens).toBe(20)
})

test('a child that fails is an error that its caller reads, not an answer', async () => {
  const broken = createAgent({
    name: 'broken',
    model: scriptedModel([{ error: new Error('no such model'), usage }]),
    settings: { maxRetries: 0 },
  })
  const root = createAgent({
    name: 'root',
    model: calling('broken'),
    tools: [broken.toTool({ name: 'broken', description: 'broken' })],
  })
  const seen = await collect(root.stream('go'))
  expect(seen.result.status).toBe('completed')
  const [failed] = only(seen.events, 'tool.execute.error')
  expect(failed?.error.code).toBe('child-failed')
})

const secret: Label = { integrity: 'untrusted', confidentiality: 'secret', sources: ['vault'] }

test('a child is told under the label of all that its caller knows, and its answer carries what it has seen', async () => {
  const labels: (Label | undefined)[] = []
  const watch = defineExtension({
    name: 'watch',
    scope: 'tree',
    hooks: { input: (message) => void labels.push(message.label) },
  })
  const peek = tool({ name: 'peek', input: z.object({ task: z.string() }), returns: secret, execute: () => 'secret' })
  const inner = createAgent({
    name: 'inner',
    model: scriptedModel([{ toolCalls: [{ name: 'peek', input: { task: 'x' } }] }, { text: 'found' }]),
    tools: [peek],
  })
  const root = createAgent({
    name: 'root',
    model: scriptedModel([
      { toolCalls: [{ name: 'inner', input: { task: 'look' } }] },
      { toolCalls: [{ name: 'inner', input: { task: 'again' } }] },
      { text: 'done' },
    ]),
    tools: [inner.toTool({ name: 'inner', description: 'inner' })],
    extensions: [watch],
  })
  const result = await root.run('go')
  expect(labels.map((label) => label?.confidentiality)).toEqual(['internal', 'internal', 'secret'])
  expect(result.messages.at(-1)?.label).toMatchObject({ confidentiality: 'secret', integrity: 'untrusted' })
})

test('extensions of the tree govern children, those of the agent do not; what the human said is known in both', async () => {
  const judged: string[] = []
  const intents: string[] = []
  const extension = (name: string, scope: 'agent' | 'tree'): ReturnType<typeof defineExtension> =>
    defineExtension({
      name,
      scope,
      hooks: {
        'tool.call'(call, ctx) {
          judged.push(`${name}: ${ctx.agent.name} ${call.tool.name}`)
          intents.push(ctx.intent.map(textOf).join())
          expect(ctx.run.rootId === ctx.run.id).toBe(ctx.run.parents.length === 0)
        },
      },
    })
  const root = createAgent({
    name: 'root',
    model: calling('pay'),
    tools: [payer([]).toTool({ name: 'pay', description: 'pay' })],
    extensions: [extension('mine', 'agent'), extension('all', 'tree')],
  })
  await root.run('pay him', { onApproval: () => 'deny' })
  expect(judged).toEqual(['mine: root pay', 'all: root pay', 'all: payer pay'])
  expect(new Set(intents)).toEqual(new Set(['pay him']))
})

function spender(grant: Record<string, number>, results: RunResult<unknown>[]): Agent {
  const worker = createAgent({
    name: 'worker',
    model: scriptedModel(
      [
        {
          toolCalls: [
            { name: 'work', input: {} },
            { name: 'work', input: {} },
          ],
          usage,
        },
      ],
      {
        after: 'repeat-last',
      },
    ),
    tools: [tool({ name: 'work', input: z.object({}), effect: 'read', execute: () => 'ok' })],
    maxSteps: 5,
  })
  const fan = tool({
    name: 'fan',
    input: z.object({ task: z.string() }),
    composite: true,
    async execute({ task }, ctx) {
      results.push(await ctx.spawn(worker, task, { key: 'w', grant }))
      return 'ok'
    },
  })
  return createAgent({ name: 'root', model: calling('fan'), tools: [fan] })
}

test.for([
  [{ tokens: 40 }, 'budget-exceeded', 3, 6],
  [{ steps: 2 }, 'budget-exceeded', 2, 4],
  [{ toolCalls: 3 }, 'budget-exceeded', 2, 3],
  [{ tokens: 0 }, 'budget-exceeded', 0, 0],
] as const)('a child is held to its grant while it runs: %o', async ([grant, code, steps, calls]) => {
  const results: RunResult<unknown>[] = []
  const seen = await collect(spender(grant, results).stream('go'))
  expect(results[0]?.error?.code).toBe(code)
  const worked = seen.events.filter(({ type, agent }) => type === 'step.start' && agent === 'worker')
  expect(worked).toHaveLength(steps)
  const ran = only(seen.events, 'tool.execute.end').filter(({ agent }) => agent === 'worker')
  expect(ran).toHaveLength(calls)
})

test('the time of a child is part of its grant', async () => {
  const results: RunResult<unknown>[] = []
  const hang = createAgent({
    name: 'hang',
    model: scriptedModel([{ stall: true }]),
  })
  const fan = tool({
    name: 'fan',
    input: z.object({ task: z.string() }),
    composite: true,
    async execute({ task }, ctx) {
      results.push(await ctx.spawn(hang, task, { key: 'h', grant: { durationMs: 5 } }))
      return 'ok'
    },
  })
  const root: Agent = createAgent({ name: 'root', model: calling('fan'), tools: [fan] })
  expect((await root.run('go')).status).toBe('completed')
  expect(results[0]).toMatchObject({ status: 'failed', error: { code: 'budget-exceeded' } })
})

test('a key identifies one child', async () => {
  const errors: unknown[] = []
  const a = answering('a')
  const fan = tool({
    name: 'fan',
    input: z.object({ task: z.string() }),
    composite: true,
    async execute(_, ctx) {
      const [one, same] = await Promise.all([ctx.spawn(a, 'x', { key: 'k' }), ctx.spawn(a, 'x', { key: 'k' })])
      expect(one).toBe(same)
      await ctx.spawn(a, 'y', { key: 'k' }).catch((error: unknown) => errors.push(error))
      return 'ok'
    },
  })
  const root: Agent = createAgent({ name: 'root', model: calling('fan'), tools: [fan] })
  await root.run('go')
  expect(errors).toMatchObject([{ code: 'replay-diverged' }])
})

test('exposeTurns lets the caller read what was said on the way', async () => {
  const talker = createAgent({
    name: 'talker',
    model: scriptedModel([{ text: 'let me look', toolCalls: [{ name: 'look', input: {} }] }, { text: 'found' }]),
    tools: [tool({ name: 'look', input: z.object({}), execute: () => 'ok' })],
  })
  const stream: AgentStream = createAgent({
    name: 'root',
    model: calling('talker'),
    tools: [talker.toTool({ name: 'talker', description: 'talker', exposeTurns: true })],
  }).stream('go')
  const { events } = await collect(stream)
  const told = only(events, 'tool.execute.end').find(({ agent }) => agent === 'root')
  expect(JSON.stringify(told?.output)).toContain('let me look')
})

test('tiers are of each agent: a child goes by its own models and tools, whatever its caller runs with', async () => {
  const named = (modelId: string, first: ScriptedStep): ReturnType<typeof scriptedModel> =>
    thenText(modelId, first, `${modelId} says so`)
  const hard = tool({ name: 'hard', input: z.object({}), preferredModel: 'smart', execute: () => 'seen' })
  const first = { toolCalls: [{ name: 'hard', input: {} }], usage }
  const child = createAgent({
    name: 'child',
    model: { fast: named('child-fast', first), balanced: named('child', first), smart: named('child-smart', first) },
    tools: [hard],
  })
  const ask = { toolCalls: [{ name: 'ask', input: { task: 'go' } }], usage }
  const root = createAgent({
    name: 'root',
    model: named('never', ask),
    tools: [child.toTool({ name: 'ask', description: 'Asks.' })],
  })
  const { events, result } = await collect(root.stream('go', { model: named('given', ask) }))
  expect(only(events, 'step.start').map(({ model }) => model)).toEqual([
    'scripted/given',
    'scripted/child',
    'scripted/child-smart',
    'scripted/given',
  ])
  expect(Object.keys(result.usage.byModel).toSorted()).toEqual([
    'scripted/child',
    'scripted/child-smart',
    'scripted/given',
  ])
})
