import { createAgent } from '@provost/agent'
import type { Usage } from '@provost/core'
import { defineExtension } from '@provost/core'
import { budget } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const look = tool({ name: 'look', effect: 'read', input: z.looseObject({}), execute: () => 'seen' })

/** An agent that never ends by itself. */
function endless(limits: Parameters<typeof budget>[0], usage: Usage, calls = 1) {
  const toolCalls = Array.from({ length: calls }, () => ({ name: 'look', input: {} }))
  return createAgent({
    name: 'a',
    model: scriptedModel([{ toolCalls, usage }], { after: 'repeat-last' }),
    tools: [look],
    extensions: [budget(limits)],
    maxSteps: 20,
    store: memoryStore(),
  })
}

test.each([Number.NaN, -1, '10', null, {}, Number.NEGATIVE_INFINITY])('budget rejects the limit %j', (limit) => {
  expect(() => budget({ tokens: limit as never })).toThrow(expect.objectContaining({ code: 'invalid-budget' }))
})

describe('invalid usage of a provider still counts', () => {
  test.each<[string, Usage, Usage]>([
    ['less than nothing', { inputTokens: 60, outputTokens: 0 }, { inputTokens: -1_000, outputTokens: -1_000 }],
    ['no number', { inputTokens: 60, outputTokens: 0 }, { inputTokens: Number.NaN, outputTokens: Number.NaN }],
  ])('%s', async (_, honest, lie) => {
    const steps = [honest, lie, honest, honest].map((usage) => ({ toolCalls: [{ name: 'look', input: {} }], usage }))
    const agent = createAgent({
      name: 'a',
      model: scriptedModel(steps, { after: 'repeat-last' }),
      tools: [look],
      extensions: [budget({ tokens: 100 })],
      maxSteps: 20,
      store: memoryStore(),
    })
    expect(await agent.run('go')).toMatchObject({ status: 'failed', error: { code: 'budget-exceeded' } })
  })
})

test('budget counts a hundred calls of one step one by one', async () => {
  let ran = 0
  const counter = defineExtension({
    name: 'counter',
    hooks: { 'tool.result': (result) => ((ran += Number(result.outcome === 'ok')), result) },
  })
  const toolCalls = Array.from({ length: 100 }, () => ({ name: 'look', input: {} }))
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([{ toolCalls }, { text: 'done' }]),
    tools: [look],
    extensions: [budget({ toolCalls: 7 }), counter],
    store: memoryStore(),
  })
  await agent.run('go')
  expect(ran).toBe(7)
})

test('budget with a limit of 0 stops everything', async () => {
  const usage = { inputTokens: 1, outputTokens: 1 }
  for (const limits of [{ tokens: 0 }, { steps: 0 }, { cost: 0 }, { durationMs: 0 }]) {
    const { status, error } = await endless(limits, usage).run('go')
    expect([status, error?.code]).toEqual(['failed', 'budget-exceeded'])
  }
})

test('a run that resumes in another process keeps its budget', async () => {
  const usage = { inputTokens: 30, outputTokens: 10 }
  const agent = (calls: readonly string[]) =>
    createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: calls.map((name) => ({ name, input: {} })), usage }], {
        after: 'repeat-last',
      }),
      tools: [look, tool({ name: 'far', effect: 'read', input: z.looseObject({}) })],
      extensions: [budget({ tokens: 70 })],
      store: memoryStore(),
    })
  const first = await agent(['far']).run('go')
  expect(first.status).toBe('suspended')
  const [pending] = first.pending.remoteCalls
  const next = await agent(['look']).run(first.state, { toolResults: [{ callId: pending?.callId ?? '', output: 'x' }] })
  expect([next.status, next.error?.code]).toEqual(['failed', 'budget-exceeded'])
})
