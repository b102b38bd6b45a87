import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Grant, RunResult, Usage } from '@provost/core'
import { defineExtension } from '@provost/core'
import { budget } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { runFanOut } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'seen' })
const looking = { name: 'look', input: {} }

/** A response of `obedient`: at most `output` tokens, and no more than its request permits. */
interface Wish {
  readonly output: number
  readonly calls: readonly string[]
}

function obedient(wishes: readonly Wish[], inputTokens?: number) {
  return scriptedModel(
    [
      ({ messages, options }): ScriptedStep => {
        const wish = wishes[messages.filter(({ role }) => role === 'assistant').length]
        const { output, calls } = wish ?? { output: 5, calls: [] }
        const { maxOutputTokens = Number.POSITIVE_INFINITY } = options
        const toolCalls = calls.map((name) => ({ name, input: name === 'look' ? {} : { task: 'go' } }))
        return {
          ...(toolCalls.length > 0 ? { toolCalls } : { text: 'done' }),
          usage: { ...(inputTokens !== undefined && { inputTokens }), outputTokens: Math.min(output, maxOutputTokens) },
          delayMs: 1,
        }
      },
    ],
    { after: 'repeat-last' },
  )
}

const tokensOf = ({ inputTokens = 0, outputTokens = 0 }: Usage): number => inputTokens + outputTokens

function parentOf(children: readonly Agent[], limits: Grant, own: Wish['output'] = 20): Agent {
  return createAgent({
    name: 'root',
    model: obedient([{ output: own, calls: children.map(({ name }) => `ask_${name}`) }], 30),
    tools: children.map((child) => child.toTool({ name: `ask_${child.name}`, description: 'Asks.' })),
    extensions: [budget(limits), pondering],
    store: memoryStore(),
  })
}

/** Yields in tool.call, so that siblings are judged at the same time. */
const pondering = defineExtension({
  name: 'pondering',
  scope: 'tree',
  hooks: { 'tool.call': () => sleep(2, undefined) },
})

describe('sibling runs', () => {
  test('do not exceed a token limit of 300 together', async () => {
    const children = Array.from({ length: 6 }, (_, index) =>
      createAgent({ name: `c${index}`, model: obedient([{ output: 85, calls: [] }]) }),
    )
    const { usage } = await parentOf(children, { tokens: 300 }).run('go')
    // The last call may start with less than its input left.
    expect(tokensOf(usage)).toBeLessThanOrEqual(300 + 30)
    expect(tokensOf(usage)).toBeGreaterThan(200)
  })

  test('run at the same time if there is enough for all', async () => {
    let [active, most] = [0, 0]
    const counter = defineExtension({
      name: 'counter',
      scope: 'tree',
      hooks: {
        async around(op, next, ctx) {
          if (op.kind !== 'model' || ctx.run.parents.length === 0) return next()
          most = Math.max(most, ++active)
          try {
            return await next()
          } finally {
            active--
          }
        },
      },
    })
    const waiting = (name: string): Agent =>
      createAgent({ name, model: scriptedModel([{ text: 'done', delayMs: 5, usage: { outputTokens: 5 } }]) })
    const children = ['a', 'b', 'c', 'd'].map(waiting)
    const root = createAgent({
      name: 'root',
      model: obedient([{ output: 5, calls: children.map(({ name }) => name) }]),
      tools: children.map((child) => child.toTool({ name: child.name, description: 'Asks.' })),
      extensions: [budget({ tokens: 1_000_000 }), counter],
      store: memoryStore(),
    })
    expect((await root.run('go')).status).toBe('completed')
    expect(most).toBe(4)
  })

  test.each<[string, Grant, (result: RunResult<unknown>, looked: number) => unknown, number]>([
    ['tool calls', { toolCalls: 10 }, (_, looked) => looked, 4],
    ['steps', { steps: 4 }, ({ usage }) => usage.outputTokens, 4 * 10],
  ])('do not exceed their %s together', async (_what, limits, counted, most) => {
    let looked = 0
    const counting = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => ++looked })
    const children = Array.from({ length: 6 }, (_, index) =>
      createAgent({
        name: `c${index}`,
        model: obedient([
          { output: 10, calls: ['look', 'look'] },
          { output: 10, calls: ['look'] },
        ]),
        tools: [counting],
      }),
    )
    const result = await parentOf(children, limits, 10).run('go')
    expect(counted(result, looked)).toBe(most)
  })

  test('share the cost limit by the price of their requests', async () => {
    const prices = { 'scripted/scripted-model': { input: 1, output: 10 } }
    const children = Array.from({ length: 6 }, (_, index) =>
      createAgent({ name: `c${index}`, model: obedient([{ output: 90, calls: [] }]), prices }),
    )
    const root = createAgent({
      name: 'root',
      model: obedient([{ output: 10, calls: children.map(({ name }) => name) }]),
      tools: children.map((child) => child.toTool({ name: child.name, description: 'Asks.' })),
      extensions: [budget({ cost: 0.002 })],
      store: memoryStore(),
      prices,
    })
    const { cost = 0 } = await root.run('go')
    // The input of one request, and the 16 tokens of its smallest output limit.
    expect(cost).toBeLessThanOrEqual(0.002 + 0.0004)
    expect(cost).toBeGreaterThan(0.0015)
  })

  test('in a fan-out share the budget', async () => {
    const children = Array.from({ length: 6 }, (_, index) => ({
      key: `${index}`,
      input: 'go',
      agent: createAgent({ name: `c${index}`, model: obedient([{ output: 100, calls: [] }]) }),
    }))
    let spent = 0
    const meter = defineExtension({
      name: 'meter',
      scope: 'tree',
      hooks: { event: (event) => void (spent += event.type === 'fanout.child' ? tokensOf(event.usage) : 0) },
    })
    const done = runFanOut({
      children,
      mergeStrategy: 'concat',
      maxConcurrentChildren: 6,
      extensions: [budget({ tokens: 250 }), meter],
    })
    await expect(done).rejects.toMatchObject({ code: 'budget-exceeded' })
    expect(spent).toBeLessThanOrEqual(250 + 40)
    expect(spent).toBeGreaterThan(100)
  })
})

describe('a generation by a hook', () => {
  const summary = { text: 'well', usage: { inputTokens: 20, outputTokens: 30 } }
  const talkative = (failed: string[]) =>
    defineExtension({
      name: 'talkative',
      hooks: {
        async 'tool.result'(_, ctx) {
          for (let i = 0; i < 20; i++) {
            const model = scriptedModel([summary], { after: 'repeat-last' })
            await ctx.generate({ prompt: 'and?', model }).catch((thrown: unknown) => {
              failed.push(String((thrown as { info?: { code?: string } }).info?.code))
              throw thrown
            })
          }
        },
      },
    })

  test('is refused when the budget is spent', async () => {
    const failed: string[] = []
    const agent = createAgent({
      name: 'a',
      model: obedient([{ output: 10, calls: ['look'] }]),
      tools: [look],
      extensions: [budget({ tokens: 200 }), talkative(failed)],
      store: memoryStore(),
    })
    const { usage, error } = await agent.run('go')
    expect(failed).toEqual(['budget-exceeded'])
    expect(error?.code).toBe('budget-exceeded')
    expect(tokensOf(usage)).toBeLessThanOrEqual(200 + 50)
  })

  test('waits for its turn beside others, and counts', async () => {
    const judge = defineExtension({
      name: 'judge',
      hooks: {
        async 'tool.result'(_, ctx) {
          await ctx.generate({ prompt: 'fine?', model: scriptedModel([{ ...summary, delayMs: 1 }]) })
        },
      },
    })
    const agent = createAgent({
      name: 'a',
      model: obedient([{ output: 10, calls: Array.from({ length: 6 }, () => 'look') }]),
      tools: [look],
      extensions: [budget({ tokens: 600 }), judge],
      store: memoryStore(),
    })
    expect((await agent.run('go')).status).toBe('completed')
  })
})

test('a failed attempt counts before the next one starts', async () => {
  let tries = 0
  const words = Array.from({ length: 60 }, () => 'word ')
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([() => (tries++, { text: words, failAfterChunks: 60 })], { after: 'repeat-last' }),
    extensions: [
      budget({ tokens: 150 }),
      defineExtension({ name: 'again', hooks: { 'model.error': () => ({ retryAfterMs: 0 }) } }),
    ],
    store: memoryStore(),
  })
  const { error, usage } = await agent.run('go')
  expect(error?.code).toBe('budget-exceeded')
  expect(tries).toBe(3)
  expect(usage.estimated).toBe(true)
})

test('a budget ends a run whose provider reports no usage', async () => {
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([{ toolCalls: [looking] }], { after: 'repeat-last' }),
    tools: [look],
    extensions: [budget({ tokens: 400 })],
    maxSteps: 50,
    store: memoryStore(),
  })
  const { error, usage } = await agent.run('go')
  expect(error?.code).toBe('budget-exceeded')
  expect(usage.estimated).toBe(true)
})

interface Plan {
  readonly wishes: readonly Wish[]
  readonly children: readonly Plan[]
  readonly most: number | undefined
}

const planOf = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.record(
    {
      wishes: fc.array(
        fc.record({
          output: fc.integer({ min: 1, max: 200 }),
          calls: fc.array(fc.constant('look'), { maxLength: 3 }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      children: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constant<Plan[]>([]),
        fc.array(tie('plan'), { maxLength: 4 }),
      ),
      most: fc.option(fc.integer({ min: 20, max: 300 }), { nil: undefined }),
    },
    { noNullPrototype: true },
  ),
})).plan

function treeOf({ wishes, children, most }: Plan, name: string): Agent {
  const below = children.map((child, index) => treeOf(child, `${name}_${index}`))
  const [first, ...rest] = wishes
  return createAgent({
    name,
    model: obedient([
      { output: first?.output ?? 1, calls: [...(first?.calls ?? []), ...below.map((child) => child.name)] },
      ...rest,
    ]),
    tools: [look, ...below.map((child) => child.toTool({ name: child.name, description: 'Asks.' }))],
    ...(most !== undefined && { settings: { maxOutputTokens: most } }),
    maxParallelTools: 8,
  })
}

test('a tree of children spends at most its budget and one request', async () => {
  await fc.assert(
    fc.asyncProperty(
      planOf,
      fc.integer({ min: 0, max: 3000 }),
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 0, max: 8 }),
      async (plan, tokens, toolCalls, steps) => {
        let [largest, ran, asked] = [0, 0, 0]
        const meter = defineExtension({
          name: 'meter',
          scope: 'tree',
          hooks: {
            async around(op, next) {
              if (op.kind === 'tool') ran++
              const result = await next()
              if (op.kind === 'model') {
                asked++
                largest = Math.max(largest, op.outcome?.usage.inputTokens ?? 0)
              }
              return result
            },
          },
        })
        const tree = treeOf(plan, 'r')
        const held = createAgent({
          name: 'top',
          model: obedient([{ output: 10, calls: ['r'] }]),
          tools: [tree.toTool({ name: 'r', description: 'Asks.' })],
          extensions: [budget({ tokens, toolCalls, steps: steps + 1 }), meter],
          store: memoryStore(),
        })
        const { usage } = await held.run('go')
        expect(tokensOf(usage)).toBeLessThanOrEqual(tokens + largest + 16)
        expect(ran).toBeLessThanOrEqual(toolCalls)
        expect(asked).toBeLessThanOrEqual(steps + 1)
      },
    ),
    { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 500 : 40 },
  )
})
