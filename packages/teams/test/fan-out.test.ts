import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { createAgent, PendingInputError } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { collect, only } from '@provost/agent/test/run/run-check'
import type { ChildResult } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { fanOut, evaluatorOptimizer, runFanOut } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

const usage = { inputTokens: 10, outputTokens: 5 }

function answering(name: string, step: ScriptedStep = { text: `${name} says so` }): Agent {
  return createAgent({
    name,
    model: scriptedModel([{ usage, ...step }], { provider: 'scripted', modelId: name, after: 'repeat-last' }),
    settings: { maxRetries: 0 },
    prices: { [`scripted/${name}`]: { input: 1, output: 1 } },
  })
}

const failing = (name: string): Agent => answering(name, { error: new Error('out of order') })

test('concat joins what the children that completed say, in their order; failures are seen and not pasted', async () => {
  const {
    output,
    children,
    used,
    usage: spent,
    cost,
  } = await runFanOut({
    children: [
      { agent: answering('a'), input: 'go' },
      { agent: failing('b'), input: 'go' },
      { agent: answering('c'), input: 'go', key: 'third' },
      { agentId: 'local', invoke: async () => 'local says so' },
    ],
    mergeStrategy: 'concat',
  })
  expect(output).toBe('a says so\n\nc says so\n\nlocal says so')
  expect(used).toEqual(['0', 'third', 'local'])
  expect(children.map(({ key, status }) => [key, status])).toEqual([
    ['0', 'completed'],
    ['1', 'failed'],
    ['third', 'completed'],
    ['local', 'completed'],
  ])
  expect(children[1]?.error?.code).toBeTypeOf('string')
  expect(output).not.toContain('out of order')
  expect(spent.inputTokens).toBe(20)
  // The child that failed used no token.
  expect(cost).toBeCloseTo(0.00003, 12)
})

test('first-success returns with the first that succeeds, not the first of the list, and aborts the others', async () => {
  let aborted = false
  const hanging = createAgent({
    name: 'hanging',
    model: scriptedModel([{ toolCalls: [{ name: 'hang', input: {} }] }]),
    tools: [
      tool({
        name: 'hang',
        input: z.object({}),
        execute: (_, ctx) =>
          new Promise<string>((resolve) => {
            ctx.signal.addEventListener('abort', () => {
              aborted = true
              resolve('stopped')
            })
          }),
      }),
    ],
  })
  const { output, children, used } = await runFanOut({
    children: [
      { agent: hanging, input: 'go', key: 'slow' },
      { agent: failing('bad'), input: 'go', key: 'bad' },
      { agent: answering('quick'), input: 'go', key: 'quick' },
    ],
    mergeStrategy: 'first-success',
  })
  expect(output).toBe('quick says so')
  expect(used).toEqual(['quick'])
  expect(children.map(({ status }) => status)).toEqual(['aborted', 'failed', 'completed'])
  expect(aborted).toBe(true)
})

test('a judge makes one answer of all, and what it costs counts', async () => {
  const seen: string[] = []
  const judge = createAgent({
    name: 'judge',
    output: z.object({ best: z.string() }),
    model: scriptedModel([
      ({ messages }) => {
        seen.push(JSON.stringify(messages))
        return { text: JSON.stringify({ best: 'b' }), usage }
      },
    ]),
  })
  const { output, usage: spent } = await runFanOut({
    children: [
      { agent: answering('a'), input: 'go' },
      { agent: answering('b'), input: 'go' },
    ],
    mergeStrategy: { kind: 'judge-merge', judge, criteria: 'brevity' },
  })
  expect(output.best).toBe('b')
  expect(seen[0]).toContain('a says so')
  expect(seen[0]).toContain('brevity')
  expect(spent.inputTokens).toBe(30)
})

test('custom sees all children, and a fan-out without a success is an error of its own', async () => {
  const counted = await runFanOut({
    children: [
      { agent: failing('a'), input: 'go' },
      { agent: failing('b'), input: 'go' },
    ],
    mergeStrategy: { kind: 'custom', merge: (children) => children.length },
  })
  expect(counted.output).toBe(2)
  await expect(
    runFanOut({ children: [{ agent: failing('a'), input: 'go' }], mergeStrategy: 'concat' }),
  ).rejects.toMatchObject({ code: 'fan-out-failed' })
  await expect(runFanOut({ children: [], mergeStrategy: 'concat' })).rejects.toMatchObject({ code: 'invalid-fan-out' })
})

test('no more children run at a time than allowed', async () => {
  let [alive, most] = [0, 0]
  const children = Array.from({ length: 20 }, (_, n) => ({
    agentId: `${n}`,
    async invoke() {
      most = Math.max(most, ++alive)
      await new Promise((resolve) => setImmediate(resolve))
      alive--
      return n
    },
  }))
  const { children: all } = await runFanOut({ children, mergeStrategy: 'concat', maxConcurrentChildren: 3 })
  expect(most).toBe(3)
  expect(all.map(({ output }) => output)).toEqual(children.map((_, n) => n))
})

test('a fan-out holds no more runs than are under way', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: unknown = runInNewContext('gc')
  const count = 48
  const runs: WeakRef<object>[] = []
  let alive = 0
  const watch = defineExtension({
    name: 'watch',
    hooks: {
      async 'model.request'(_, ctx) {
        runs.push(new WeakRef(ctx.run))
        if (runs.length < count) return
        // What was looked at stays until the turn is over; what hangs on a collected thing is collected after it.
        for (let n = 0; n < 2; n++) {
          await new Promise((resolve) => setImmediate(resolve))
          if (typeof collectGarbage === 'function') collectGarbage()
        }
        alive = runs.filter((run) => run.deref()).length
      },
    },
  })
  const child = createAgent({
    name: 'child',
    model: scriptedModel([{ text: 'ok', usage }], { after: 'repeat-last' }),
    extensions: [watch],
  })
  await runFanOut({
    children: Array.from({ length: count }, (_, n) => ({ agent: child, input: `task ${n}` })),
    mergeStrategy: 'concat',
    maxConcurrentChildren: 2,
  })
  expect(alive).toBeGreaterThan(0)
  // Those at work, and one whose end is being told.
  expect(alive).toBeLessThanOrEqual(3)
})

test('a budget holds each child while it runs', async () => {
  const spender = createAgent({
    name: 'spender',
    model: scriptedModel([{ toolCalls: [{ name: 'work', input: {} }], usage }], { after: 'repeat-last' }),
    tools: [tool({ name: 'work', input: z.object({}), execute: () => 'ok' })],
  })
  const { children } = await runFanOut({
    children: [
      { agent: spender, input: 'go', key: 'spender' },
      { agent: answering('a'), input: 'go', key: 'a' },
    ],
    mergeStrategy: 'concat',
    perBudget: { tokens: 40 },
  })
  const timed = await runFanOut({
    children: [{ agentId: 'hang', invoke: () => new Promise<string>(() => {}) }],
    mergeStrategy: { kind: 'custom', merge: ([child]) => child?.error?.code },
    perBudget: { durationMs: 5 },
  })
  expect(timed.output).toBe('budget-exceeded')
  expect(children.map(({ status, error }) => [status, error?.code])).toEqual([
    ['failed', 'budget-exceeded'],
    ['completed', undefined],
  ])
  expect(children[0]?.usage.inputTokens).toBe(30)
})

test('a composite fans out in its run: events, usage and labels are those of the run', async () => {
  const fan = tool({
    name: 'fan',
    input: z.object({}),
    composite: true,
    async execute(_, ctx) {
      const { output } = await ctx.fanOut({
        children: ['a', 'b'].map((name) => ({ agent: answering(name), input: 'go', key: name })),
        mergeStrategy: 'concat',
      })
      return output
    },
  })
  const merges: (readonly ChildResult[])[] = []
  const root = createAgent({
    name: 'root',
    model: scriptedModel([
      { toolCalls: [{ name: 'fan', input: {} }], usage },
      { text: 'done', usage },
    ]),
    tools: [fan],
    extensions: [
      defineExtension({
        name: 'only-b',
        hooks: {
          merge(children) {
            merges.push(children)
            return children.filter(({ key }) => key === 'b')
          },
        },
      }),
    ],
  })
  const { events, result } = await collect(root.stream('go'))
  expect(result.usage.inputTokens).toBe(40)
  expect(only(events, 'fanout.start')[0]?.children.map(({ key }) => key)).toEqual(['a', 'b'])
  expect(only(events, 'fanout.child').map(({ key, status }) => [key, status])).toEqual([
    ['a', 'completed'],
    ['b', 'completed'],
  ])
  expect(only(events, 'fanout.merged')[0]?.used).toEqual(['b'])
  expect(merges).toHaveLength(1)
  expect(only(events, 'tool.execute.end')[0]?.output).toEqual({ type: 'text', value: 'b says so' })
})

test('what governs an agent governs its fan-out', async () => {
  const seen: string[] = []
  const watch = defineExtension({
    name: 'watch',
    scope: 'tree',
    hooks: { input: (_, ctx) => void seen.push(ctx.agent.name) },
  })
  const desk = createAgent({ name: 'desk', model: scriptedModel([]), extensions: [watch] })
  await fanOut(desk, { children: [{ agent: answering('a'), input: 'go' }], mergeStrategy: 'concat' })
  expect(seen).toEqual(['desk', 'a'])
})

const full = process.env['PROVOST_TEST_FULL'] === '1'

test('a fan-out may be wide', async () => {
  const count = full ? 1000 : 24
  let [alive, most] = [0, 0]
  const worker = createAgent({
    name: 'worker',
    model: scriptedModel(
      [
        ({ messages }) =>
          JSON.stringify(messages.at(-1)).includes('"role":"tool"')
            ? { text: 'ok', usage }
            : { toolCalls: [{ name: 'work', input: {} }], usage },
      ],
      { after: 'repeat-last' },
    ),
    tools: [
      tool({
        name: 'work',
        input: z.object({}),
        async execute() {
          most = Math.max(most, ++alive)
          await new Promise((resolve) => setImmediate(resolve))
          alive--
          return 'done'
        },
      }),
    ],
  })
  const { children, usage: spent } = await runFanOut({
    children: Array.from({ length: count }, (_, n) => ({ agent: worker, input: `task ${n}` })),
    mergeStrategy: 'concat',
    maxConcurrentChildren: 16,
  })
  expect(children.every(({ status }) => status === 'completed')).toBe(true)
  expect(spent.inputTokens).toBe(20 * count)
  expect(most).toBeLessThanOrEqual(16)
})

test('a generator tries until it is accepted, and receives what to improve', async () => {
  const prompts: string[] = []
  const writer = createAgent({
    name: 'writer',
    model: scriptedModel(
      [({ messages }, index) => (prompts.push(JSON.stringify(messages)), { text: `draft ${index + 1}`, usage })],
      { after: 'repeat-last' },
    ),
  })
  const best = await evaluatorOptimizer({
    generator: writer,
    input: 'Write.',
    maxIterations: 5,
    evaluator: {
      kind: 'free-form',
      evaluate: (output, iteration) => ({
        accepted: iteration === 3,
        feedback: `${output} is too long`,
        score: iteration,
      }),
    },
  })
  expect(best).toMatchObject({ accepted: true, output: 'draft 3' })
  expect(best.iterations).toHaveLength(3)
  expect(prompts[2]).toContain('draft 2 is too long')
  expect(best.usage.inputTokens).toBe(30)
})

test('a try that ended before a model was asked does not make the cost unknown', async () => {
  const once = defineExtension({
    name: 'once',
    hooks: {
      input: ({ content }, ctx) =>
        JSON.stringify(content).includes('Do better') ? ctx.stop('enough', 'Once will do.') : undefined,
    },
  })
  const writer = createAgent({
    name: 'writer',
    model: scriptedModel([{ text: 'draft', usage }], { provider: 'scripted', modelId: 'writer' }),
    prices: { 'scripted/writer': { input: 1_000_000, output: 0 } },
    extensions: [once],
  })
  const best = await evaluatorOptimizer({
    generator: writer,
    input: 'Write.',
    evaluator: { kind: 'free-form', evaluate: () => ({ accepted: false, feedback: 'longer' }) },
  })
  expect(best).toMatchObject({ accepted: false, output: 'draft', cost: 10 })
})

test('where nothing is accepted, the best output counts', async () => {
  const writer = createAgent({
    name: 'writer',
    model: scriptedModel([(_, index) => ({ text: `draft ${index + 1}` })], { after: 'repeat-last' }),
  })
  const scores = [0.2, 0.7, 0.5]
  const best = await evaluatorOptimizer({
    generator: writer,
    input: 'Write.',
    evaluator: {
      kind: 'free-form',
      evaluate: (_, n) => ({ accepted: false, feedback: '', score: scores[n - 1] ?? 0 }),
    },
  })
  expect(best).toMatchObject({ accepted: false, output: 'draft 2' })
  expect(best.iterations.map(({ score }) => score)).toEqual(scores)
})

test('within a composite, the tries are children of its run and count with it', async () => {
  const writer = createAgent({
    name: 'writer',
    model: scriptedModel([
      { text: 'draft', usage },
      { text: 'better', usage },
    ]),
  })
  const letter = tool({
    name: 'letter',
    input: z.object({}),
    composite: true,
    async execute(_, ctx) {
      const { output } = await evaluatorOptimizer({
        within: ctx,
        generator: writer,
        input: 'Write.',
        evaluator: { kind: 'free-form', evaluate: (text) => ({ accepted: text === 'better', feedback: 'Better.' }) },
      })
      return output
    },
  })
  const desk = createAgent({
    name: 'desk',
    tools: [letter],
    model: scriptedModel([
      { toolCalls: [{ name: 'letter', input: {} }], usage },
      { text: 'done', usage },
    ]),
  })
  const { events, result } = await collect(desk.stream('Go.'))
  const { runId, usage: spent } = result
  const tries = only(events, 'agent.end').filter(({ agent }) => agent === 'writer')
  expect(tries.map(({ parents }) => parents)).toEqual([[runId], [runId]])
  expect(only(events, 'evaluator.iteration').map(({ accepted }) => accepted)).toEqual([false, true])
  expect(spent.inputTokens).toBe(40)
})

test('a schema, and a model, can be the evaluator', async () => {
  const writer = (texts: readonly string[]): Agent =>
    createAgent({ name: 'writer', model: scriptedModel(texts.map((text) => ({ text }))) })
  const bySchema = await evaluatorOptimizer({
    generator: writer(['{"n": "x"}', '{"n": 1}']),
    input: 'Write.',
    evaluator: { kind: 'schema', schema: z.object({ n: z.number() }) },
  })
  expect(bySchema).toMatchObject({ accepted: true, output: '{"n": 1}' })
  expect(bySchema.iterations[0]?.feedback).toContain('n')
  const byModel = await evaluatorOptimizer({
    generator: writer(['bad', 'good']),
    input: 'Write.',
    evaluator: {
      kind: 'llm-judge',
      judge: scriptedModel([{ text: '{"score":0.3,"feedback":"warmer"}' }, { text: '{"score":0.9,"feedback":""}' }]),
      criteria: 'warmth',
    },
  })
  expect(byModel).toMatchObject({ accepted: true, output: 'good' })
  expect(byModel.iterations.map(({ score }) => score)).toEqual([0.3, 0.9])
})

test('a session remembers a fan-out that was broken off', async () => {
  const store = memoryStore()
  const desk = createAgent({ name: 'desk', model: scriptedModel([]), store })
  const session = await desk.createSession({ id: 'ann' })
  const ran: string[] = []
  const controller = new AbortController()
  const worker = (name: string): { agentId: string; invoke: () => Promise<string> } => ({
    agentId: name,
    invoke: async () => {
      ran.push(name)
      return name
    },
  })
  const asks = createAgent({
    name: 'asks',
    model: scriptedModel(
      [
        ({ messages }) =>
          JSON.stringify(messages.at(-1)).includes('"role":"tool"')
            ? { text: 'paid' }
            : { toolCalls: [{ name: 'pay', input: {} }] },
      ],
      { after: 'repeat-last' },
    ),
    tools: [tool({ name: 'pay', input: z.object({}), needsApproval: true, execute: () => 'ok' })],
  })
  const children = [worker('a'), worker('b'), { agent: asks, input: 'pay', key: 'asks' }]
  const options = { children, mergeStrategy: 'concat', session, signal: controller.signal } as const
  const waits: unknown = await fanOut(desk, options).catch((error: unknown) => error)
  if (!(waits instanceof PendingInputError)) throw new Error('The fan-out has no pending waits.')
  expect(waits).toMatchObject({ code: 'pending-input', hint: expect.stringContaining('decisions') })
  const approvals = waits.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
  expect(approvals).toHaveLength(1)
  const { output } = await fanOut(desk, { ...options, decisions: { approvals } })
  expect(output).toBe('a\n\nb\n\npaid')
  expect(ran).toEqual(['a', 'b'])
})
