import { createAgent, handoff } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Grant, RunResult, SessionStore, Usage } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { fannedOut } from './fan-out-world.ts'

const usage = { inputTokens: 20, outputTokens: 10 }
const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'seen' })
const looking = { toolCalls: [{ name: 'look', input: {} }], usage, delayMs: 1 }

/** Asks and asks. */
const spender = (name: string): Agent =>
  createAgent({ name, model: scriptedModel([looking], { after: 'repeat-last' }), tools: [look], maxSteps: 50 })

const tokensOf = ({ inputTokens = 0, outputTokens = 0 }: Usage): number => inputTokens + outputTokens

/** A child with a grant whose own children are started all at once. */
function nested(
  outer: Grant,
  inner: Grant | undefined,
  count: number,
  results: RunResult<unknown>[],
  store: SessionStore = memoryStore(),
): Agent {
  const spread = tool({
    name: 'spread',
    input: z.object({}),
    composite: true,
    async execute(_, ctx) {
      const runs = Array.from({ length: count }, (__, index) =>
        ctx.spawn(spender(`s${index}`), 'go', { key: `${index}`, ...(inner && { grant: inner }) }),
      )
      results.push(...(await Promise.all(runs)))
      return 'done'
    },
  })
  const middle = createAgent({
    name: 'middle',
    model: scriptedModel([
      { toolCalls: [{ name: 'spread', input: {} }], usage },
      { text: 'done', usage },
    ]),
    tools: [spread],
    maxParallelTools: 8,
  })
  const start = tool({
    name: 'start',
    input: z.object({}),
    composite: true,
    async execute(_, ctx) {
      results.push(await ctx.spawn(middle, 'go', { key: 'm', grant: outer }))
      return 'done'
    },
  })
  return createAgent({
    name: 'root',
    model: scriptedModel([
      { toolCalls: [{ name: 'start', input: {} }], usage },
      { text: 'done', usage },
    ]),
    tools: [start],
    store,
  })
}

describe('grants of siblings', () => {
  test('are parts of what is left, taken when they start', async () => {
    const store = memoryStore()
    const results: RunResult<unknown>[] = []
    const { sessionId } = await nested({ tokens: 300 }, { tokens: 100 }, 6, results, store).run('go')
    const grants = await grantsIn(store, sessionId)
    // 300 is middle's; it has spent 30 of it before its children start.
    expect(grants.toSorted((a, b) => b - a)).toEqual([300, 100, 100, 70, 0, 0, 0])
  })

  test('keep them within it together, with and without a grant of their own', async () => {
    for (const inner of [undefined, { tokens: 100 }]) {
      const results: RunResult<unknown>[] = []
      await nested({ tokens: 300 }, inner, 6, results).run('go')
      const middle = results.at(-1)
      expect(results).toHaveLength(7)
      // Each of the calls was reported with 30 tokens, whatever it was asked for: one may have begun with less left.
      expect(tokensOf(middle?.usage ?? {})).toBeLessThanOrEqual(300 + 30)
      expect(tokensOf(middle?.usage ?? {})).toBeGreaterThan(200)
    }
  })

  test('bound their tool calls and steps together', async () => {
    for (const grant of [{ toolCalls: 6 }, { steps: 6 }]) {
      const results: RunResult<unknown>[] = []
      const seen: string[] = []
      for await (const event of nested(grant, undefined, 6, results).stream('go')) {
        if (event.type === 'tool.execute.end') seen.push(event.toolName)
      }
      // One of the calls, and one of the steps, is middle's own.
      expect(seen.filter((name) => name === 'look').length).toBe(5)
      expect(results.slice(0, 6).map(({ error }) => error?.code)).toEqual(Array(6).fill('budget-exceeded'))
    }
  })
})

describe('perBudget', () => {
  test('of tool calls ends the child that wants more', async () => {
    let asked = 0
    const greedy = createAgent({
      name: 'greedy',
      model: scriptedModel([() => (asked++, looking)], { after: 'repeat-last' }),
      tools: [look],
    })
    const modest = createAgent({
      name: 'modest',
      model: scriptedModel([looking, looking, looking, { text: 'enough', usage }]),
      tools: [look],
    })
    const { children } = await fannedOut({
      children: [
        { agent: greedy, input: 'go' },
        { agent: modest, input: 'go' },
      ],
      mergeStrategy: 'concat',
      perBudget: { toolCalls: 3 },
    })
    expect(children.map(({ status, error }) => [status, error?.code])).toEqual([
      ['failed', 'budget-exceeded'],
      ['completed', undefined],
    ])
    // Three calls that went ahead, and the one that was refused.
    expect(asked).toBe(4)
  })

  test('is one for all agents that a piece of work runs', async () => {
    for (const together of [true, false]) {
      const { children } = await fannedOut({
        children: [
          {
            agentId: 'work',
            async invoke() {
              const agents = Array.from({ length: 4 }, (_, index) => spender(`w${index}`))
              if (together) await Promise.all(agents.map((agent) => agent.run('go')))
              else for (const agent of agents) await agent.run('go')
              return 'done'
            },
          },
        ],
        mergeStrategy: 'concat',
        perBudget: { tokens: 100 },
      })
      expect(tokensOf(children[0]?.usage ?? {})).toBeLessThanOrEqual(100 + 30)
    }
  })
})

test('a child that hands over takes its grant along', async () => {
  const target = spender('target')
  const front = createAgent({
    name: 'front',
    model: scriptedModel([{ toolCalls: [{ name: 'transfer_to_target', input: {} }], usage }]),
    handoffs: [handoff(target)],
  })
  const { children } = await fannedOut({
    children: [{ agent: front, input: 'go' }],
    mergeStrategy: { kind: 'custom', merge: (all) => all.length },
    perBudget: { tokens: 100 },
  })
  expect(children[0]?.error?.code).toBe('budget-exceeded')
  expect(tokensOf(children[0]?.usage ?? {})).toBeLessThanOrEqual(100 + 30)
})

test('what a child has set aside is known to the process that resumes', async () => {
  const store = memoryStore()
  const build = (): Agent => {
    const waiting = createAgent({
      name: 'waiting',
      model: scriptedModel([{ toolCalls: [{ name: 'far', input: {} }], usage }], { after: 'repeat-last' }),
      tools: [tool({ name: 'far', effect: 'read', input: z.object({}) })],
    })
    const late = tool({
      name: 'late',
      input: z.object({}),
      composite: true,
      async execute(_, ctx) {
        const second = async (): Promise<unknown> => {
          await ctx.wait('second')
          return ctx.spawn(spender('b'), 'go', { key: 'b', grant: { tokens: 200 } })
        }
        await Promise.all([ctx.spawn(waiting, 'go', { key: 'a', grant: { tokens: 200 } }), second()])
        return 'done'
      },
    })
    const middle = createAgent({
      name: 'middle',
      model: scriptedModel([{ toolCalls: [{ name: 'late', input: {} }], usage }], { after: 'repeat-last' }),
      tools: [late],
    })
    const start = tool({
      name: 'start',
      input: z.object({}),
      composite: true,
      execute: async (_, ctx) => (await ctx.spawn(middle, 'go', { key: 'm', grant: { tokens: 300 } })).status,
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'start', input: {} }], usage }])
    return createAgent({ name: 'root', model, tools: [start], store })
  }
  const parked = await build().run('go')
  expect([parked.status, parked.pending.remoteCalls.length]).toEqual(['suspended', 1])
  const [question] = parked.pending.inputs
  const again = await build().run(parked.state, { inputs: [{ id: question?.id ?? '', value: 'now' }] })
  expect(again.status).toBe('suspended')
  // Of 300, middle has spent 30, and 200 are the first child's, of which it has spent 30.
  expect(await grantsIn(store, parked.sessionId)).toEqual([300, 200, 70])
})

/** The grants in the log of a run and those of its children. */
async function grantsIn(store: SessionStore, log: string): Promise<readonly number[]> {
  const grants: number[] = []
  for await (const entry of store.read(log)) {
    if (entry.type !== 'child' || entry.op !== 'spawned') continue
    grants.push(entry.grant?.tokens ?? -1, ...(await grantsIn(store, entry.log)))
  }
  return grants
}
