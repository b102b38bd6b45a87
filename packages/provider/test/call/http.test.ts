import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { JsonSchema, Message, Part } from '@provost/core'
import type { ModelAnswer } from '@provost/provider'
import { callModel, createPrompt, retryDelayMs } from '@provost/provider'
import type { Aimock } from '@provost/testing'
import { startAimock } from '@provost/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { hear } from './stream-model.ts'

let server: Aimock
beforeEach(async () => {
  server = await startAimock()
})
afterEach(() => server.close())

const providers: Readonly<Record<string, () => LanguageModelV4>> = {
  'OpenAI Responses': () => createOpenAI({ baseURL: server.baseURL, apiKey: 'test' })('gpt-5'),
  'OpenAI Chat': () => createOpenAI({ baseURL: server.baseURL, apiKey: 'test' }).chat('gpt-4.1'),
  Anthropic: () => createAnthropic({ baseURL: server.baseURL, apiKey: 'test' })('claude-sonnet-5'),
  'a compatible server': () =>
    createOpenAICompatible({ name: 'local', baseURL: server.baseURL, includeUsage: true })('llama'),
}
const look = {
  type: 'function',
  name: 'look',
  inputSchema: { type: 'object', properties: { order: { type: 'number' } } },
} as const

function message(role: Message['role'], ...content: readonly Part[]): Message {
  return { id: `${role}-${content.length}`, role, createdAt: 0, content }
}

/** Returns the tool-call ids of a request in any protocol, with the order id of each call or result. */
function idsByOrder(body: unknown): [order: number, id: string][] {
  if (typeof body !== 'object' || body === null) return []
  const { id, call_id, tool_call_id, tool_use_id, type } = body as Record<string, unknown>
  const own = call_id ?? tool_call_id ?? tool_use_id ?? (type === 'function' || type === 'tool_use' ? id : undefined)
  const order = /order\D{1,8}(17|18)/.exec(JSON.stringify(body))?.[1]
  return typeof own === 'string' ? [[Number(order), own]] : Object.values(body).flatMap(idsByOrder)
}

describe.each(Object.entries(providers))('%s over HTTP', (_, model) => {
  it('streams text and reports its usage', async () => {
    server.play({ text: 'The order was shipped on Monday.', chunkSize: 5, usage: { inputTokens: 40, outputTokens: 6 } })
    const { answer, pieces } = await hear(model())
    expect(answer).toMatchObject({
      ok: true,
      finishReason: 'stop',
      parts: [{ type: 'text', text: 'The order was shipped on Monday.' }],
      usage: { inputTokens: 40, outputTokens: 6 },
    })
    expect(pieces.filter((piece) => piece.type === 'text-delta').length).toBeGreaterThan(3)
  })

  it('calls tools in parallel, and gets their results under the ids that it gave', async () => {
    server.play(
      {
        toolCalls: [
          { name: 'look', input: { order: 17 }, id: 'call_same' },
          { name: 'look', input: { order: 18 }, id: 'call_same' },
        ],
      },
      { text: 'Both are on their way.' },
    )
    const prompt = createPrompt()
    prompt.append(message('user', { type: 'text', text: 'Where are 17 and 18?' }))
    const first = await hear(model(), { prompt: prompt.build(), tools: [look] })
    expect(first.answer).toMatchObject({ ok: true, finishReason: 'tool-calls' })
    const calls = first.answer.parts.filter((part) => part.type === 'tool-call')
    expect(calls).toMatchObject([
      { callId: 'c0', toolName: 'look', input: { order: 17 } },
      { callId: 'c1', toolName: 'look', input: { order: 18 } },
    ])
    prompt.append(message('assistant', ...first.answer.parts))
    for (const { callId, toolCallId, toolName, input } of calls.toReversed())
      prompt.append(
        message('tool', {
          type: 'tool-result',
          callId,
          toolCallId,
          toolName,
          output: { type: 'json', value: { seen: input } },
        }),
      )
    const second = await hear(model(), { prompt: prompt.build(), tools: [look] })
    expect(second.answer).toMatchObject({ ok: true, parts: [{ text: 'Both are on their way.' }] })

    const ids = idsByOrder(server.requests.at(-1)?.body)
    expect(ids.map(([order]) => order).toSorted((a, b) => a - b)).toEqual([17, 17, 18, 18])
    const of = (order: number): Set<string> => new Set(ids.filter(([one]) => one === order).map(([, id]) => id))
    expect([of(17).size, of(18).size, new Set([...of(17), ...of(18)]).size]).toEqual([1, 1, 2])
  })

  it.each([
    [429, 'rate-limit'],
    [500, 'capacity'],
    [529, 'capacity'],
  ] as const)('fails with a retryable error for status %i', async (status, kind) => {
    server.play({ failure: { status, retryAfterSeconds: 2 } })
    const { answer } = await hear(model())
    expect(answer).toMatchObject({ ok: false, fault: { class: kind, status, retryable: true } })
    const wait = answer.ok ? undefined : retryDelayMs(answer.fault, 1, () => 0)
    expect(wait).toBe(status === 429 ? 2000 : 500)
    expect(server.requests).toHaveLength(1)
  })

  it('fails with a final error if the prompt is too long or the key is wrong', async () => {
    server.play(
      {
        failure: {
          status: 400,
          code: 'context_length_exceeded',
          message: "This model's maximum context length is 4096 tokens.",
        },
      },
      { failure: { status: 401, code: 'invalid_api_key', message: 'Incorrect API key provided' } },
    )
    expect((await hear(model())).answer).toMatchObject({
      ok: false,
      fault: { class: 'context-length', retryable: false },
    })
    expect((await hear(model())).answer).toMatchObject({ ok: false, fault: { class: 'auth', retryable: false } })
  })

  it('fails with a network error if the stream is cut, and keeps the text so far', async () => {
    const text = 'Half an answer is better than none, they say.'
    server.play({ text, chunkSize: 4, cutAfterEvents: 8 })
    const { answer } = await hear(model())
    expect(answer).toMatchObject({ ok: false, aborted: false, fault: { class: 'network', retryable: true } })
    const [part] = answer.parts
    expect(part).toMatchObject({ type: 'text' })
    expect(text.startsWith(part?.type === 'text' ? part.text : '-')).toBe(true)
  })

  it('stops at once if it is aborted in the middle', async () => {
    server.play({
      text: 'A very long answer that the client does not read to its end. '.repeat(50),
      chunkSize: 10,
      delayMs: 20,
    })
    const abort = new AbortController()
    const prompt = createPrompt()
    prompt.append(message('user', { type: 'text', text: 'Go on.' }))
    const answer: ModelAnswer = await callModel(
      { model: model(), prompt: prompt.build(), callId: (index) => `c${index}`, signal: abort.signal },
      (piece) => {
        if (piece.type === 'text-delta') abort.abort()
      },
    )
    expect(answer).toMatchObject({ ok: false, aborted: true, parts: [{ type: 'text' }] })
  })

  it('fails with a network error if no server listens', async () => {
    const unreachable = model()
    await server.close()
    expect((await hear(unreachable)).answer).toMatchObject({ ok: false, fault: { class: 'network', retryable: true } })
    server = await startAimock()
  })

  it('requests JSON that matches a schema', async () => {
    server.play({ text: '{"order":17}' })
    const schema: JsonSchema = {
      type: 'object',
      properties: { order: { type: 'number' } },
      required: ['order'],
      additionalProperties: false,
    }
    const { answer } = await hear(model(), { responseFormat: { name: 'answer', schema } })
    expect(answer.ok).toBe(true)
    expect(JSON.stringify(server.requests.at(-1)?.body)).toMatch(/json_(schema|object)/)
  })
})

describe.each(['OpenAI Responses', 'Anthropic'])('%s over HTTP', (name) => {
  const model = (): LanguageModelV4 => providers[name]?.() ?? expect.fail(name)

  it('gets its reasoning back byte for byte, or none of it', async () => {
    server.play({ reasoning: 'They ask about two orders.', signature: 'c2lnbmVk', text: 'One moment.' })
    const thinking = {
      anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } },
      openai: { reasoningSummary: 'auto', store: false },
    }
    const { answer } = await hear(model(), { settings: { providerOptions: thinking } })
    const [reasoning] = answer.parts
    expect(reasoning).toMatchObject({ type: 'reasoning', text: 'They ask about two orders.' })
    expect(reasoning?.providerOptions).toBeDefined()

    for (const kept of [true, false]) {
      server.play({ text: 'Yes.' })
      const prompt = createPrompt({ reasoning: kept ? 'keep' : 'strip' })
      prompt.append(message('user', { type: 'text', text: 'Where are they?' }))
      prompt.append(message('assistant', ...answer.parts))
      prompt.append(message('user', { type: 'text', text: 'Well?' }))
      await hear(model(), { prompt: prompt.build(), settings: { providerOptions: thinking } })
      const sent = JSON.stringify(server.requests.at(-1)?.body)
      expect(sent.includes('They ask about two orders.')).toBe(kept)
      expect(sent.includes('c2lnbmVk')).toBe(kept && name === 'Anthropic')
      expect(sent.includes('One moment.')).toBe(true)
    }
  })
})
