import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { createAgent } from '@provost/agent'
import { isRecord } from '@provost/core'
import { modelFallback } from '@provost/provider'
import type { Aimock, ScriptedPrompt, WireRequest } from '@provost/testing'
import { scriptedModel, startAimock } from '@provost/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { askedModel, echo, missing, only, partsModel, say, watch } from '../hooks/hook-scenario.ts'

let server: Aimock
beforeAll(async () => {
  server = await startAimock()
})
afterAll(() => server.close())

const claude = (): LanguageModelV4 => createAnthropic({ baseURL: server.baseURL, apiKey: 'test' })('claude-sonnet-5')
const others: Readonly<Record<string, () => LanguageModelV4>> = {
  'OpenAI Responses': () => createOpenAI({ baseURL: server.baseURL, apiKey: 'test' })('gpt-5'),
  'OpenAI Chat': () => createOpenAI({ baseURL: server.baseURL, apiKey: 'test' }).chat('gpt-4.1'),
  'a compatible server': () => createOpenAICompatible({ name: 'local', baseURL: server.baseURL })('llama'),
  'another model of Anthropic': () => createAnthropic({ baseURL: server.baseURL, apiKey: 'test' })('claude-opus-5'),
}

/** The history in a request, whatever the protocol calls it. */
function historyOf({ body }: WireRequest): readonly unknown[] {
  const list = isRecord(body) ? (body['messages'] ?? body['input']) : undefined
  return Array.isArray(list) ? list : []
}
/** Without the marks of where the cache ends, which move on. */
function text(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => (key === 'cache_control' ? undefined : inner))
}

describe.each(Object.entries(others))('when %s steps in for Anthropic', (_, other) => {
  it('thoughts and signatures stay with the model that had them, and its prefix stays as it was', async () => {
    const before = server.requests.length
    server.play(
      { reasoning: 'Secret thoughts of Claude.', signature: 'Y2xhdWRl', text: 'Let me see.', toolCalls: [say('one')] },
      { text: 'Half an answer that breaks off.', chunkSize: 4, cutAfterEvents: 4 },
      { reasoning: 'Thoughts of the other.', signature: 'b3RoZXI', text: 'I take over.', toolCalls: [say('two')] },
      { text: 'Done.' },
    )
    const thinking = {
      anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } },
      openai: { reasoningSummary: 'auto', store: false },
    }
    const agent = createAgent({
      name: 'a',
      instructions: 'Be brief.',
      model: claude(),
      tools: [echo],
      settings: { providerOptions: thinking },
      extensions: [modelFallback([other()])],
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(only(events, 'model.fallback')).toMatchObject([{ class: 'network' }])

    const [, cut, taken, back] = server.requests.slice(before)
    if (!cut || !taken || !back) return missing('four requests')
    expect(text(cut.body)).toContain('Secret thoughts of Claude.')
    expect(text(cut.body)).toContain('Y2xhdWRl')
    for (const foreign of ['Secret thoughts', 'Y2xhdWRl', 'Half an']) expect(text(taken.body)).not.toContain(foreign)
    for (const common of ['Let me see.', 'echo one']) expect(text(taken.body)).toContain(common)
    for (const foreign of ['Thoughts of the other', 'b3RoZXI']) expect(text(back.body)).not.toContain(foreign)
    for (const common of ['I take over.', 'echo two', 'Y2xhdWRl']) expect(text(back.body)).toContain(common)
    expect(historyOf(back).slice(0, historyOf(cut).length).map(text)).toEqual(historyOf(cut).map(text))
  })
})

describe('what another wrote', () => {
  it('is known from the log, by a run in progress elsewhere and by the next run of the session', async () => {
    const thought = (): LanguageModelV4 =>
      scriptedModel([{ reasoning: { text: 'Hmm.', providerMetadata: { first: { signature: 's' } } }, text: 'Yes.' }], {
        provider: 'first',
      })
    const agent = createAgent({ name: 'a', model: thought() })
    const { sessionId } = await agent.run('Is it?')
    const asked: ScriptedPrompt[] = []
    for (const provider of ['second', 'first'])
      await agent.run('Sure?', { sessionId, model: askedModel(asked, [{ text: 'Sure.' }], { provider }) })
    const [second, first] = asked.map(({ messages }) => messages[1]?.content)
    expect(second).toEqual([{ type: 'text', text: 'Yes.' }])
    expect(first).toEqual([
      { type: 'reasoning', text: 'Hmm.', providerOptions: { first: { signature: 's' } } },
      { type: 'text', text: 'Yes.' },
    ])
  })

  it('is what was said and called: no ids of a provider, nor tools that it ran itself', async () => {
    const first = partsModel([
      { type: 'reasoning-start', id: 'r', providerMetadata: { parts: { itemId: 'rs_1' } } },
      { type: 'reasoning-delta', id: 'r', delta: 'Hmm.' },
      { type: 'reasoning-end', id: 'r' },
      { type: 'tool-call', toolCallId: 's', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 's', toolName: 'search', result: 'found' },
      { type: 'custom', kind: 'parts.compaction', providerMetadata: { parts: { itemId: 'cmp_1' } } },
      { type: 'text-start', id: '0', providerMetadata: { parts: { itemId: 'msg_1' } } },
      { type: 'text-delta', id: '0', delta: 'Found.' },
      { type: 'text-end', id: '0' },
      {
        type: 'tool-call',
        toolCallId: 'c',
        toolName: 'echo',
        input: '{"value":"x"}',
        providerMetadata: { parts: { itemId: 'fc_1' } },
      },
      {
        type: 'finish',
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
      },
    ])
    const asked: ScriptedPrompt[] = []
    const agent = createAgent({
      name: 'a',
      model: first,
      tools: [echo],
      extensions: [modelFallback([askedModel(asked, [{ text: 'ok' }])])],
    })
    expect((await agent.run('go')).text).toBe('ok')
    expect(asked[0]?.messages[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Found.' },
        { type: 'tool-call', toolCallId: expect.any(String), toolName: 'echo', input: { value: 'x' } },
      ],
    })
  })

  it('keeps its metadata for another model of the provider, but for the thoughts', async () => {
    const small = scriptedModel(
      [{ reasoning: { text: 'Hmm.', providerMetadata: { scripted: { signature: 's' } } }, text: 'Yes.' }],
      { modelId: 'small' },
    )
    const agent = createAgent({ name: 'a', model: small })
    const { sessionId } = await agent.run('Is it?')
    const asked: ScriptedPrompt[] = []
    await agent.run('Sure?', { sessionId, model: askedModel(asked, [{ text: 'Sure.' }], { modelId: 'large' }) })
    expect(asked[0]?.messages[1]?.content).toEqual([{ type: 'text', text: 'Yes.' }])
  })

  it('is sent without any reasoning where the agent keeps none', async () => {
    const asked: ScriptedPrompt[] = []
    const agent = createAgent({
      name: 'a',
      model: askedModel(asked, [{ reasoning: 'Hmm.', toolCalls: [say('x')] }, { text: 'ok' }]),
      tools: [echo],
      reasoningRetention: 'strip',
    })
    await agent.run('go')
    expect(JSON.stringify(asked[1])).not.toContain('Hmm.')
  })

  it('leaves the prefix of a run with one model as the same objects', async () => {
    const asked: ScriptedPrompt[] = []
    const agent = createAgent({
      name: 'a',
      model: askedModel(asked, [{ toolCalls: [say('x')] }, { toolCalls: [say('y')] }, { text: 'ok' }]),
      tools: [echo],
    })
    await agent.run('go')
    const [first, second, third] = asked.map(({ messages }) => messages)
    expect([first?.length, second?.length, third?.length]).toEqual([1, 3, 5])
    for (const [index, message] of (second ?? []).entries()) expect(third?.[index]).toBe(message)
  })
})
