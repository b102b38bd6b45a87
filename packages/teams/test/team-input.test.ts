import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Input } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { evaluatorOptimizer, fanOut, planAndExecute, runFanOut } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

/** A picture of three megabytes, as the AI SDK takes it. */
const picture: Input = [
  { type: 'text', text: 'What is it?' },
  { type: 'file', data: new Uint8Array(3_000_000), mediaType: 'image/png' },
]
const accepted = { kind: 'free-form', evaluate: () => ({ accepted: true, feedback: '' }) } as const

function writer(prompts: string[] = []): Agent {
  const answer = ({ messages }: { messages: unknown }) => (prompts.push(JSON.stringify(messages)), { text: 'A cat.' })
  return createAgent({ name: 'writer', model: scriptedModel([answer], { after: 'repeat-last' }) })
}

describe('bytes in an input cost no more than they do for an agent alone', () => {
  const session = () => {
    const lead = createAgent({ name: 'lead', model: scriptedModel([]), store: memoryStore() })
    return lead.createSession().then((made) => ({ lead, session: made }))
  }
  const letter = tool({
    name: 'letter',
    input: z.object({}),
    composite: true,
    execute: async (_, ctx) => (await ctx.spawn(writer(), picture, { key: 'write' })).text,
  })
  test.each<[string, () => Promise<string>]>([
    [
      'a fan-out',
      async () => {
        const children = [{ agent: writer(), input: picture }]
        return (await runFanOut({ children, mergeStrategy: 'concat' })).output
      },
    ],
    [
      'a fan-out for a session',
      async () => {
        const { lead, session: within } = await session()
        const children = [{ agent: writer(), input: picture }]
        return (await fanOut(lead, { children, mergeStrategy: 'concat', session: within })).output
      },
    ],
    [
      'an evaluator',
      async () => (await evaluatorOptimizer({ generator: writer(), input: picture, evaluator: accepted })).output,
    ],
    [
      'a composite',
      async () => {
        const model = scriptedModel([
          { toolCalls: [{ name: 'letter', input: {} }] },
          ({ messages }) => ({ text: JSON.stringify(messages.at(-1)).includes('A cat.') ? 'A cat.' : 'nothing' }),
        ])
        return (await createAgent({ name: 'lead', model, tools: [letter] }).run('Go.')).text
      },
    ],
  ])('%s', async (_, run) => {
    const start = performance.now()
    expect(await run()).toBe('A cat.')
    expect(performance.now() - start).toBeLessThan(5_000)
  })
})

test('each further attempt of a generator receives the files of the input', async () => {
  const prompts: string[] = []
  const input: Input = [
    { type: 'text', text: 'What is it?' },
    { type: 'file', data: new Uint8Array([1, 2, 3]), mediaType: 'image/png' },
  ]
  const evaluate = (_: string, iteration: number) => ({ accepted: iteration === 3, feedback: 'Its colour?' })
  await evaluatorOptimizer({ generator: writer(prompts), input, evaluator: { kind: 'free-form', evaluate } })
  expect(prompts).toHaveLength(3)
  for (const prompt of prompts) expect(prompt).toMatch(/What is it\?.*AQID/)
  expect(prompts[2]).toContain('Do better: Its colour?')
})

describe('options are rejected:', () => {
  test.each<[string, object, string]>([
    ['a function that is none', { evaluator: { kind: 'free-form', evaluate: 5 } }, 'evaluate'],
    ['a schema that is none', { evaluator: { kind: 'schema', schema: {} } }, 'schema'],
    ['criteria that are no text', { evaluator: { kind: 'llm-judge', judge: 'a/b' } }, 'criteria'],
    [
      'a threshold over 1',
      { evaluator: { kind: 'llm-judge', judge: 'a/b', criteria: 'c', threshold: 2 } },
      'threshold',
    ],
    ['no attempt', { maxIterations: 0 }, 'maxIterations'],
    ['half an attempt', { maxIterations: 1.5 }, 'maxIterations'],
  ])('%s', async (_, odd, named) => {
    const options = { generator: writer(), input: 'Write.', evaluator: accepted, ...odd }
    const rejection = expect.objectContaining({ code: 'invalid-option', message: expect.stringContaining(named) })
    await expect(evaluatorOptimizer(options)).rejects.toEqual(rejection)
  })

  test.each<[string, object, string]>([
    ['no child at once', { maxConcurrentChildren: 0 }, 'maxConcurrentChildren of runFanOut is 0'],
    [
      'any number of children at once',
      { maxConcurrentChildren: Number.NaN },
      'maxConcurrentChildren of runFanOut is NaN',
    ],
    ['a merge that is none', { mergeStrategy: { kind: 'custom' } }, 'merge of "mergeStrategy" of runFanOut is of type'],
    [
      'a child that is no function',
      { children: [{ agentId: 'a', invoke: 5 }] },
      'invoke of children[0] of runFanOut is 5',
    ],
  ])('in a fan-out: %s', async (_, odd, named) => {
    const options = { children: [{ agent: writer(), input: 'Go.' }], mergeStrategy: 'concat', ...odd } as const
    const rejection = expect.objectContaining({ code: 'invalid-option', message: expect.stringContaining(named) })
    await expect(runFanOut(options)).rejects.toEqual(rejection)
  })

  test('a call without options', async () => {
    // @ts-expect-error -- as JavaScript gives it
    await expect(evaluatorOptimizer()).rejects.toMatchObject({ code: 'invalid-argument' })
  })
})

test.each([[2.5], ['2'], [Number.POSITIVE_INFINITY]])('planAndExecute rejects %j replans', (maxReplans) => {
  // @ts-expect-error -- as JavaScript gives it
  expect(() => planAndExecute({ maxReplans })).toThrow(expect.objectContaining({ code: 'invalid-agent' }))
})
