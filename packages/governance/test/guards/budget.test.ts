import { createAgent } from '@provost/agent'
import type { Extension, Grant } from '@provost/core'
import { defineExtension } from '@provost/core'
import { budget } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const input = z.object({})
const look = tool({ name: 'look', effect: 'read', input, execute: () => 'seen' })
const far = tool({ name: 'far', input })
const usage = { inputTokens: 60, outputTokens: 40 }
const step: ScriptedStep = { toolCalls: [{ name: 'look', input: {} }], usage }
const prices = { 'scripted/scripted-model': { input: 1, output: 1 } }

function spender(
  limits: Grant,
  steps: readonly ScriptedStep[],
  more: readonly Extension[] = [],
  per?: 'run' | 'session',
) {
  return createAgent({
    name: 'spender',
    model: scriptedModel([...steps, { text: 'done', usage }]),
    tools: [look, far],
    extensions: [budget(limits, per ? { per } : {}), ...more],
    settings: { maxRetries: 0 },
    store: memoryStore(),
    prices,
  })
}

describe('a run ends after it has spent its', () => {
  test.each<[string, Grant, number]>([
    ['tokens', { tokens: 250 }, 3],
    ['steps', { steps: 2 }, 2],
    ['cost', { cost: 0.000_15 }, 2],
    ['budget of 0 tokens', { tokens: 0 }, 0],
  ])('%s', async (_, limits, answers) => {
    const { status, error, messages } = await spender(limits, [step, step, step, step]).run('go')
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'budget-exceeded' })
    expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(answers)
  })

  test('time, without the time that it was suspended', async () => {
    const slow = spender({ durationMs: 0 }, [step])
    expect((await slow.run('go')).error?.code).toBe('budget-exceeded')
    const agent = spender({ durationMs: 60_000 }, [{ toolCalls: [{ name: 'far', input: {} }], usage }])
    const parked = await agent.run('go')
    // The log states when the run was suspended and resumed, so days in between do not count.
    const state = JSON.parse(JSON.stringify(parked.state))
    expect(state).toBeDefined()
    const [call] = parked.pending.remoteCalls
    const result = await agent.run(parked.state, { toolResults: [{ callId: call?.callId ?? '', output: 'x' }] })
    expect(result.status).toBe('completed')
  })
})

test('a response is limited to the remaining tokens', async () => {
  const limits: (number | undefined)[] = []
  const spy = defineExtension({
    name: 'spy',
    hooks: { 'model.request': ({ params }) => void limits.push(params.maxOutputTokens) },
  })
  await spender({ tokens: 250 }, [step, step], [spy]).run('go')
  expect(limits).toEqual([250, 150, 50])
})

test('tool calls over the limit are denied in their order, and the run continues', async () => {
  const calls = Array.from({ length: 3 }, () => ({ name: 'look', input: {} }))
  const agent = spender({ toolCalls: 4 }, [{ toolCalls: calls }, { toolCalls: calls }])
  const codes: string[] = []
  const stream = agent.stream('go')
  for await (const event of stream) {
    if (event.type === 'tool.execute.end') codes.push('ran')
    if (event.type === 'tool.execute.error') codes.push(event.error.code)
  }
  expect(codes.toSorted()).toEqual(['budget-exceeded', 'budget-exceeded', 'ran', 'ran', 'ran', 'ran'])
  expect((await stream.result).status).toBe('completed')
})

test('generations by hooks count', async () => {
  const chatty = defineExtension({
    name: 'chatty',
    hooks: {
      async 'tool.result'(_, ctx) {
        await ctx.generate({ prompt: 'and?', model: scriptedModel([{ text: 'well', usage }]) })
      },
    },
  })
  const { error, messages } = await spender({ tokens: 200 }, [step, step, step], [chatty]).run('go')
  expect(error?.code).toBe('budget-exceeded')
  expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(1)
})

test('a model without a price ends a run with a cost limit', async () => {
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([step, step]),
    tools: [look],
    extensions: [budget({ cost: 5 })],
    store: memoryStore(),
  })
  expect((await agent.run('go')).error).toMatchObject({
    code: 'budget-exceeded',
    message: expect.stringContaining('price'),
  })
})

test('an invalid limit is rejected at once', () => {
  expect(() => budget({ tokens: Number.NaN })).toThrow(expect.objectContaining({ code: 'invalid-budget' }))
  expect(() => budget({ cost: -1 })).toThrow(expect.objectContaining({ code: 'invalid-budget' }))
})

describe('in a tree of runs', () => {
  const spending = (name: string, steps: number) =>
    createAgent({
      name,
      model: scriptedModel(
        [
          ({ messages }) =>
            messages.filter(({ role }) => role === 'assistant').length < steps ? step : { text: 'done', usage },
        ],
        { after: 'repeat-last' },
      ),
      tools: [look],
      settings: { maxRetries: 0 },
      prices,
    })
  const asking = (name: string, childSteps: number, rounds: number, limits: Grant, children = 1) => {
    const names = Array.from({ length: children }, (_, index) => `ask_${index}`)
    const toolCalls = names.map((ask) => ({ name: ask, input: { task: 'go' } }))
    return createAgent({
      name,
      model: scriptedModel([...Array.from({ length: rounds }, () => ({ toolCalls, usage })), { text: 'end', usage }]),
      tools: names.map((ask) => spending(`${name}/${ask}`, childSteps).toTool({ name: ask, description: 'Asks.' })),
      extensions: [budget(limits)],
      settings: { maxRetries: 0 },
      store: memoryStore(),
      prices,
    })
  }

  test('the usage of an ended child counts in the parent', async () => {
    // Each round costs 100 tokens of the parent and 300 of the child.
    const result = await asking('root', 2, 5, { tokens: 1000 }).run('go')
    expect(result.error?.code).toBe('budget-exceeded')
    expect(result.usage).toMatchObject({ inputTokens: 600, outputTokens: 400 })
  })

  test('the usage of the parent counts in the child', async () => {
    const result = await asking('root', 9, 1, { tokens: 300 }).run('go')
    expect(result.error?.code).toBe('budget-exceeded')
    expect(result.usage).toMatchObject({ inputTokens: 180, outputTokens: 120 })
  })

  test('parallel children share the budget, and exceed it by at most one call each', async () => {
    const result = await asking('root', 20, 1, { tokens: 1000 }, 4).run('go')
    const { inputTokens = 0, outputTokens = 0 } = result.usage
    expect(inputTokens + outputTokens).toBeGreaterThanOrEqual(1000)
    expect(inputTokens + outputTokens).toBeLessThanOrEqual(1000 + 3 * 100)
  })

  test.each<[string, Grant]>([
    ['steps', { steps: 6 }],
    ['money', { cost: 0.0006 }],
  ])('children share a limit on %s', async (_, limits) => {
    const result = await asking('root', 4, 3, limits).run('go')
    expect(result.error?.code).toBe('budget-exceeded')
    expect(result.usage).toMatchObject({ inputTokens: 360, outputTokens: 240 })
  })

  test('a child that resumes in another process still counts', async () => {
    const store = memoryStore()
    const build = () => {
      const waiting = createAgent({
        name: 'waiting',
        model: scriptedModel(
          [
            ({ messages }) =>
              messages.some(({ role }) => role === 'tool') ? step : { toolCalls: [{ name: 'far', input: {} }], usage },
          ],
          { after: 'repeat-last' },
        ),
        tools: [far, look],
      })
      return createAgent({
        name: 'root',
        model: scriptedModel([{ toolCalls: [{ name: 'ask', input: { task: 'go' } }], usage }]),
        tools: [waiting.toTool({ name: 'ask', description: 'Asks.' })],
        extensions: [budget({ tokens: 400 })],
        settings: { maxRetries: 0 },
        store,
      })
    }
    const parked = await build().run('go')
    expect(parked.status).toBe('suspended')
    const [call] = parked.pending.remoteCalls
    const result = await build().run(parked.state, { toolResults: [{ callId: call?.callId ?? '', output: 'x' }] })
    expect(result.error?.code).toBe('budget-exceeded')
    expect(result.usage).toMatchObject({ inputTokens: 240, outputTokens: 160 })
  })

  test('tool calls count too', async () => {
    let looked = 0
    const agent = asking('root', 4, 3, { toolCalls: 5 })
    for await (const event of agent.stream('go'))
      if (event.type === 'tool.execute.end') looked += Number(event.toolName === 'look')
    // The fifth call is that of the parent.
    expect(looked).toBe(4)
  })
})
