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

describe('a run ends once it has spent its', () => {
  test.each<[string, Grant, number]>([
    ['tokens', { tokens: 250 }, 3],
    ['steps', { steps: 2 }, 2],
    ['cost', { cost: 0.000_15 }, 2],
    ['nothing at all', { tokens: 0 }, 0],
  ])('%s', async (_, limits, answers) => {
    const { status, error, messages } = await spender(limits, [step, step, step, step]).run('go')
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'budget-exceeded' })
    expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(answers)
  })

  test('time, in which nobody was waited for', async () => {
    const slow = spender({ durationMs: 0 }, [step])
    expect((await slow.run('go')).error?.code).toBe('budget-exceeded')
    const agent = spender({ durationMs: 60_000 }, [{ toolCalls: [{ name: 'far', input: {} }], usage }])
    const parked = await agent.run('go')
    // As if somebody had taken days to answer: the log says when it was paused and when it went on.
    const state = JSON.parse(JSON.stringify(parked.state))
    expect(state).toBeDefined()
    const [call] = parked.pending.remoteCalls
    const result = await agent.run(parked.state, { toolResults: [{ callId: call?.callId ?? '', output: 'x' }] })
    expect(result.status).toBe('completed')
  })
})

test('an answer may be no longer than the tokens that are left', async () => {
  const limits: (number | undefined)[] = []
  const spy = defineExtension({
    name: 'spy',
    hooks: { 'model.request': ({ params }) => void limits.push(params.maxOutputTokens) },
  })
  await spender({ tokens: 250 }, [step, step], [spy]).run('go')
  expect(limits).toEqual([250, 150, 50])
})

test('tool calls over the limit are denied, at their place in the step, and the run goes on', async () => {
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

test('what hooks generate counts too', async () => {
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

test('a model of an unknown price ends a budget of money', async () => {
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

test('a limit that is none is refused at once', () => {
  expect(() => budget({ tokens: Number.NaN })).toThrow(expect.objectContaining({ code: 'invalid-budget' }))
  expect(() => budget({ cost: -1 })).toThrow(expect.objectContaining({ code: 'invalid-budget' }))
})
