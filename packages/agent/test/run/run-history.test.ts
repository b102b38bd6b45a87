import { createAgent, foldLog } from '@provost/agent'
import type { LanguageModelV4 } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { collect, expectPaired, expectSound, only, readLog } from './run-check.ts'

type Prompt = ScriptedPrompt['messages']

const look = tool({ name: 'look', input: z.object({ n: z.number() }), effect: 'read', execute: ({ n }) => `saw ${n}` })

/** A model that says what the steps say, and the prompts it was given. */
function recording(steps: readonly ScriptedStep[], modelId?: string): { model: LanguageModelV4; prompts: Prompt[] } {
  const prompts: Prompt[] = []
  const answers = steps.map((step) => ({ messages }: ScriptedPrompt) => {
    prompts.push(messages)
    return step
  })
  return { model: scriptedModel(answers, modelId === undefined ? {} : { modelId }), prompts }
}

describe("tool-call ids of the provider's", () => {
  const call = (n: number, id?: string) => ({ name: 'look', input: { n }, ...(id !== undefined && { id }) })

  test.for<[string, readonly (string | undefined)[]]>([
    ['the same twice in one step', ['call_0', 'call_0']],
    ['none at all', ['', '']],
    ['one that is no id', ['../../x', 'a b']],
    ['one that is too long', ['x'.repeat(300), 'y']],
  ])('%s: both calls run, each has its result, and the provider gets ids it can take', async ([, ids]) => {
    const { model, prompts } = recording([
      { toolCalls: [call(1, ids[0]), call(2, ids[1])] },
      // The same ids once more in the next step.
      { toolCalls: [call(3, ids[0]), call(4, ids[1])] },
      { text: 'Done.' },
    ])
    const seen = await collect(createAgent({ name: 'a', model, tools: [look] }).stream('Go.'))
    expectSound(seen)
    expect(seen.result.status).toBe('completed')
    const results = only(seen.events, 'tool.execute.end').map(({ output }) => output)
    expect(results).toEqual([1, 2, 3, 4].map((n) => ({ type: 'text', value: `saw ${n}` })))
    expect(new Set(only(seen.events, 'tool.execute.end').map(({ callId }) => callId)).size).toBe(4)
    const last = prompts.at(-1) ?? []
    expectPaired(last)
    const values = last.flatMap(({ role, content }) => (role === 'tool' ? content : []))
    expect(values).toMatchObject([1, 2, 3, 4].map((n) => ({ output: { value: `saw ${n}` } })))
  })
})

describe('after an attempt that failed in mid-answer', () => {
  const again = defineExtension({ name: 'again', hooks: { 'model.error': () => ({ retryAfterMs: 0 }) } })

  test('the texts of two attempts are never glued together', async () => {
    const { model, prompts } = recording([
      { text: ['Half an ans', 'wer'], failAfterChunks: 1 },
      { text: 'Full answer' },
    ])
    const seen = await collect(createAgent({ name: 'a', model, extensions: [again] }).stream('Go.'))
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'completed', text: 'Full answer' })
    expect(seen.result.messages).toHaveLength(2)
    // Deltas joined by message and attempt give two answers; the first was discarded.
    const texts = new Map<string, string>()
    for (const { messageId, attempt, delta } of only(seen.events, 'text.delta')) {
      texts.set(`${messageId} ${attempt}`, (texts.get(`${messageId} ${attempt}`) ?? '') + delta)
    }
    expect([...texts.values()]).toEqual(['Half an ans', 'Full answer'])
    expect(only(seen.events, 'message.end').map(({ discarded }) => discarded)).toEqual([undefined, true, undefined])
    // Nor does the model see what did not count.
    expect(prompts.map((prompt) => prompt.length)).toEqual([1, 1])
  })

  test('calls that were complete in it do not run', async () => {
    const { model } = recording([
      {
        toolCalls: [
          { name: 'look', input: { n: 1 } },
          { name: 'look', input: { n: 2 } },
        ],
        failAfterChunks: 1,
      },
      { text: 'Fine.' },
    ])
    const seen = await collect(createAgent({ name: 'a', model, tools: [look], extensions: [again] }).stream('Go.'))
    expectSound(seen)
    expect(only(seen.events, 'tool.execute.start')).toEqual([])
    expect(seen.result.text).toBe('Fine.')
  })

  const apiError = Object.assign(new Error('stream ended'), {
    name: 'AI_APICallError',
    statusCode: 200,
    isRetryable: true,
  })
  const undici = new TypeError('terminated', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })
  test('whatever a cut stream looks like, the model is asked again without being told to', async () => {
    const cuts: readonly ScriptedStep[] = [
      { error: apiError, failAfterChunks: 1 },
      { error: undici, failAfterChunks: 1 },
      { finishReason: 'interrupted' },
    ]
    // Together, since each waits before it asks again.
    const seen = await Promise.all(
      cuts.map((cut) => {
        const { model } = recording([{ text: ['Half ', 'more'], ...cut }, { text: 'Whole.' }])
        return collect(createAgent({ name: 'a', model }).stream('Go.'))
      }),
    )
    for (const one of seen) {
      expectSound(one)
      expect(one.result).toMatchObject({ status: 'completed', text: 'Whole.' })
      expect(only(one.events, 'model.retry')).toMatchObject([{ attempt: 1, class: 'network' }])
    }
  })

  test('usage and cost belong to the model that answered, and what failed is paid for too', async () => {
    const first = recording(
      [{ text: ['Half', ' more'], usage: { inputTokens: 100 }, failAfterChunks: 1 }],
      'first',
    ).model
    const second = recording([{ text: 'Whole.', usage: { inputTokens: 10, outputTokens: 2 } }], 'second').model
    const falls = defineExtension({ name: 'falls', hooks: { 'model.error': () => ({ useModel: second }) } })
    const prices = {
      'scripted/first': { input: 1_000_000, output: 0 },
      'scripted/second': { input: 1, output: 1 },
    }
    const agent = createAgent({ name: 'a', model: first, extensions: [falls], prices })
    const seen = await collect(agent.stream('Go.'))
    expectSound(seen)
    expect(seen.result.usage.byModel).toMatchObject({ 'scripted/second': { inputTokens: 10, outputTokens: 2 } })
    expect(seen.result.usage.byModel['scripted/second']?.discarded).toBeUndefined()
    expect(only(seen.events, 'model.fallback')).toMatchObject([{ from: 'scripted/first', to: 'scripted/second' }])
    expect(only(seen.events, 'step.end')).toMatchObject([{ usage: { inputTokens: 10, outputTokens: 2 } }])
  })
})

test('a plain error with status 429 is a rate limit', async () => {
  const { model } = recording([{ error: Object.assign(new Error('slow down'), { status: 429 }) }])
  const { result } = await collect(createAgent({ name: 'a', model, settings: { maxRetries: 0 } }).stream('Go.'))
  expect(result).toMatchObject({ status: 'failed', error: { code: 'rate-limit' } })
})

describe('reasoning', () => {
  test('goes back to its provider with its signature, byte for byte', async () => {
    const reasoning = { text: 'So.\n', providerMetadata: { scripted: { signature: 'ErUB+/=' } } }
    const { model, prompts } = recording([
      { reasoning, toolCalls: [{ name: 'look', input: { n: 1 } }] },
      { text: 'Done.' },
    ])
    const { result } = await collect(createAgent({ name: 'a', model, tools: [look] }).stream('Go.'))
    assertWellFormed(result.messages)
    expect(prompts[1]?.[1]).toMatchObject({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'So.\n', providerOptions: { scripted: { signature: 'ErUB+/=' } } },
        { type: 'tool-call' },
      ],
    })
  })

  test('that led to nothing leaves a well-formed history, and is not sent back alone', async () => {
    const { model, prompts } = recording([{ reasoning: 'Hm.', finishReason: 'length' }, { text: 'Yes.' }])
    const agent = createAgent({ name: 'a', model, store: memoryStore() })
    const first = await agent.run('Well?')
    expect(first.status).toBe('completed')
    assertWellFormed(first.messages)
    await agent.run('And?', { sessionId: first.sessionId })
    const parts = (prompts[1] ?? []).flatMap(({ role, content }) => (role === 'assistant' ? content : []))
    expect(parts.at(-1)?.type).not.toBe('reasoning')
  })
})

test('a model that ends without a word leaves a history that any provider takes', async () => {
  const store = memoryStore()
  const { model, prompts } = recording([{}, { text: 'Here.' }])
  const agent = createAgent({ name: 'a', model, store })
  const first = await collect(agent.stream('Well?'))
  expect(first.result).toMatchObject({ status: 'completed', text: '' })
  const second = await agent.run('Hello?', { sessionId: first.result.sessionId })
  expect(second.text).toBe('Here.')
  expect(prompts[1]?.every(({ content }) => content.length > 0)).toBe(true)
  expectSound(first)
  assertWellFormed(foldLog(await readLog(store, second.sessionId)).messages)
})
