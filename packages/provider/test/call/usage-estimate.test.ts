import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { callModel, estimateTokens } from '@provost/provider'
import { expect, test } from 'vitest'

import { ask, modelOf } from './stream-model.ts'

const words = 'The order left the warehouse this morning and arrives tomorrow.'
const text: readonly LanguageModelV4StreamPart[] = [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: words },
]

function reporting(input: unknown, output: unknown): LanguageModelV4StreamPart {
  return {
    type: 'finish',
    finishReason: { unified: 'stop', raw: undefined },
    usage: {
      inputTokens: { total: input as number, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: output as number, text: undefined, reasoning: undefined },
    },
  }
}

const call = (
  parts: readonly LanguageModelV4StreamPart[],
  end?: Parameters<typeof modelOf>[1],
  signal?: AbortSignal,
): ReturnType<typeof callModel> =>
  callModel(
    { model: modelOf(parts, end), prompt: ask, inputTokens: () => 40, callId: (index) => `call-${index}`, signal },
    () => {},
  )

test.each([
  ['nothing', undefined, undefined],
  ['NaN', Number.NaN, Number.NaN],
  ['a negative count', -5, -5],
  ['infinity', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ['more than any context window', 1e15, 1e15],
  ['0 for a request with tokens', 0, 0],
  ['a string', '12', null],
])('the usage of a provider that reports %s is estimated and marked as such', async (_, input, output) => {
  const { usage } = await call([...text, reporting(input, output)])
  expect(usage).toEqual({ inputTokens: 40, outputTokens: estimateTokens(words), estimated: true })
})

test('reported counters are kept, and only missing ones are estimated', async () => {
  expect((await call([...text, reporting(7, 3)])).usage).toEqual({ inputTokens: 7, outputTokens: 3 })
  expect((await call([...text, reporting(7, undefined)])).usage).toEqual({
    inputTokens: 7,
    outputTokens: estimateTokens(words),
    estimated: true,
  })
  expect((await call([...text, reporting(undefined, 3)])).usage).toEqual({
    inputTokens: 40,
    outputTokens: 3,
    estimated: true,
  })
})

test('the usage of a broken response covers its output, incomplete tool calls included', async () => {
  const half: readonly LanguageModelV4StreamPart[] = [
    ...text,
    { type: 'tool-input-start', id: 'a', toolName: 'write' },
    { type: 'tool-input-delta', id: 'a', delta: `{"text":"${words}` },
  ]
  const { usage, parts } = await call(half)
  expect(parts).toHaveLength(1)
  expect(usage).toMatchObject({ inputTokens: 40, estimated: true })
  expect(usage.outputTokens).toBeGreaterThan(2 * estimateTokens(words))
})

test('the usage of an aborted response covers its output', async () => {
  const abort = new AbortController()
  const answer = callModel(
    { model: modelOf(text, 'hang'), prompt: ask, callId: () => 'c', signal: abort.signal },
    (piece) => {
      if (piece.type === 'text-delta') abort.abort()
    },
  )
  // Without an estimate of the caller, the prompt is counted.
  expect((await answer).usage).toEqual({
    inputTokens: expect.any(Number),
    outputTokens: estimateTokens(words),
    estimated: true,
  })
})

test('a rejected request without output has no usage', async () => {
  expect((await call([], { throws: new Error('429') })).usage).toEqual({})
})
