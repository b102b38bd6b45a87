import { createAgent } from '@provost/agent'
import { collect, expectSound, only } from '@provost/agent/test/run/run-check'
import { textOf } from '@provost/core'
import { react } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

const look = tool({ name: 'look', input: z.object({ n: z.number() }), effect: 'read', execute: ({ n }) => `saw ${n}` })
const call = (n: number) => ({ name: 'look', input: { n } })

async function runWith(steps: readonly ScriptedStep[], maxThoughtTokens?: number) {
  const tails: string[] = []
  const model = scriptedModel(
    steps.map((step) => ({ messages }: ScriptedPrompt) => {
      tails.push(JSON.stringify(messages.at(-1)?.content))
      return step
    }),
    { after: 'error' },
  )
  const orchestrator = react(maxThoughtTokens === undefined ? {} : { maxThoughtTokens })
  const seen = await collect(createAgent({ name: 'scout', model, tools: [look], orchestrator }).stream('Look.'))
  expectSound(seen)
  return { ...seen, tails }
}

test('of several calls the first runs, and the model is asked to look at its result before it continues', async () => {
  const { result, events } = await runWith([
    { text: 'I look at one.', toolCalls: [call(1), call(2), call(3)] },
    { reasoning: 'Two is missing.', toolCalls: [call(2)] },
    { text: 'Both are there.' },
  ])
  expect(result).toMatchObject({ status: 'completed', text: 'Both are there.' })
  expect(only(events, 'tool.execute.end').map(({ output }) => output)).toEqual([
    { type: 'text', value: 'saw 1' },
    { type: 'text', value: 'saw 2' },
  ])
  expect(only(events, 'tool.skipped').map(({ reason }) => reason)).toEqual(
    Array(2).fill('Not run: one action at a time. Look at the observation, think, then call again.'),
  )
})

test('a call without a thought is sent back once; a model that never writes one is not asked for ever', async () => {
  const { result, events } = await runWith([
    { toolCalls: [call(1)] },
    { toolCalls: [call(1)] },
    { text: '   ', toolCalls: [call(2)] },
    { text: 'So: two.', toolCalls: [call(2)] },
    { text: 'Done.' },
  ])
  expect(result.status).toBe('completed')
  expect(only(events, 'tool.skipped').map(({ reason }) => reason)).toEqual(
    Array(2).fill('Not run: write your thought first, then call again.'),
  )
  expect(only(events, 'tool.execute.start').map(({ input }) => input)).toEqual([{ n: 1 }, { n: 2 }])
})

test('the rules stand behind each request and never in the history; a long thought is remarked upon once', async () => {
  const { result, tails } = await runWith(
    [{ text: 'word '.repeat(60), toolCalls: [call(1)] }, { text: 'Short.', toolCalls: [call(2)] }, { text: 'Done.' }],
    20,
  )
  expect(tails.map((tail) => tail.includes('at most 20 tokens'))).toEqual([true, true, true])
  expect(tails.map((tail) => /Your last thought took about \d+ tokens/.test(tail))).toEqual([false, true, false])
  expect(result.messages.some((message) => textOf(message).includes('thought, action'))).toBe(false)
})

test.for([0, -1, Number.NaN])('a thought of %d tokens is none', (maxThoughtTokens) => {
  expect(() => react({ maxThoughtTokens })).toThrow(expect.objectContaining({ code: 'invalid-agent' }))
})
