import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Extension } from '@provost/core'
import { textOf } from '@provost/core'
import { assertWellFormed, startAimock } from '@provost/testing'
import type { Aimock } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { extension, failure, missing, only, reported, transcript, typesOf, watch } from '../hooks/hook-scenario.ts'

let server: Aimock
beforeEach(async () => {
  server = await startAimock()
})
afterEach(() => server.close())

interface Provider {
  readonly model: () => LanguageModelV4
  readonly name: string
  /** US dollars for a million input and a million output tokens. */
  readonly price?: readonly [number, number]
}
const providers: Readonly<Record<string, Provider>> = {
  'OpenAI Responses': {
    model: () => createOpenAI({ baseURL: server.baseURL, apiKey: 'test' })('gpt-5'),
    name: 'openai/gpt-5',
    price: [1.25, 10],
  },
  'OpenAI Chat': {
    model: () => createOpenAI({ baseURL: server.baseURL, apiKey: 'test' }).chat('gpt-4.1'),
    name: 'openai/gpt-4.1',
    price: [2, 8],
  },
  Anthropic: {
    model: () => createAnthropic({ baseURL: server.baseURL, apiKey: 'test' })('claude-sonnet-5'),
    name: 'anthropic/claude-sonnet-5',
    price: [2, 10],
  },
  'a compatible server': {
    model: () =>
      createOpenAICompatible({
        name: 'local',
        baseURL: server.baseURL,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })('llama'),
    name: 'local/llama',
  },
}
const seen: number[] = []
const look = tool({
  name: 'look',
  description: 'Looks an order up.',
  effect: 'read',
  input: z.object({ order: z.number() }),
  execute: ({ order }) => {
    seen.push(order)
    return { order, state: `on its way ${order}` }
  },
})
beforeEach(() => {
  seen.length = 0
})
/** Failures that may pass are tried again at once. */
const atOnce = extension('at-once', {
  'model.error': ({ class: kind }) => (kind === 'network' ? { retryAfterMs: 0 } : undefined),
})

describe.each(Object.entries(providers))('%s behind an agent', (_, { model, name, price }) => {
  function agentOf(extensions: readonly Extension[] = [], more: Partial<AgentOptions> = {}) {
    return createAgent({
      name: 'desk',
      instructions: 'Help with orders.',
      model: model(),
      tools: [look],
      ...more,
      extensions,
    })
  }
  const lastBody = (): string => JSON.stringify(server.requests.at(-1)?.body)

  it('streams its text; usage and cost come out', async () => {
    server.play({
      text: 'The order was shipped on Monday.',
      chunkSize: 5,
      usage: { inputTokens: 400_000, outputTokens: 50_000 },
    })
    const { events, result } = await watch(agentOf().stream('Where is 17?'))
    expect(result).toMatchObject({ status: 'completed', text: 'The order was shipped on Monday.' })
    const deltas = only(events, 'text.delta').map(({ delta }) => delta)
    expect(deltas.length).toBeGreaterThan(3)
    expect(deltas.join('')).toBe(result.text)
    expect(only(events, 'step.start')).toMatchObject([{ model: name }])
    expect(result.usage).toMatchObject({
      inputTokens: 400_000,
      outputTokens: 50_000,
      byModel: { [name]: { inputTokens: 400_000 } },
    })
    const cost = price && 0.4 * price[0] + 0.05 * price[1]
    expect(result.cost?.toFixed(6)).toBe(cost?.toFixed(6))
    expect(lastBody()).toContain('Help with orders.')
    expect(lastBody()).toContain('Looks an order up.')
  })

  it('calls tools in parallel, and answers from their results in a second step', async () => {
    server.play(
      { text: 'One moment.', toolCalls: [17, 18].map((order) => ({ name: 'look', input: { order }, id: 'same_id' })) },
      { text: 'Both are on their way.', usage: { inputTokens: 10, outputTokens: 5 } },
    )
    const { events, result } = await watch(agentOf().stream('Where are 17 and 18?'))
    expect(result).toMatchObject({ status: 'completed', text: 'Both are on their way.' })
    expect(seen).toEqual([17, 18])
    expect(only(events, 'tool.execute.start').map(({ input }) => input)).toEqual([{ order: 17 }, { order: 18 }])
    for (const order of [17, 18]) expect(lastBody()).toContain(`on its way ${order}`)
    expect(server.requests).toHaveLength(2)
    assertWellFormed(result.messages)
  })

  it('is told what was wrong with a call that is no JSON, and may try again', async () => {
    server.play(
      { toolCalls: [{ name: 'look', input: '{"order": 17' }] },
      { toolCalls: [{ name: 'look', input: { order: 17 } }] },
      { text: 'It is on its way.' },
    )
    const { status, messages } = await agentOf().run('Where is 17?')
    expect(status).toBe('completed')
    expect(seen).toEqual([17])
    expect(transcript(messages)[2]).toMatch(/^tool: \[The input of look (is not valid JSON|does not fit)/)
    expect(JSON.stringify(server.requests[1]?.body)).toContain('The input of look')
    assertWellFormed(messages)
  })

  it('gives structured output', async () => {
    server.play({ text: '{"order":"seventeen"}' }, { text: '{"order":17}' })
    const agent = createAgent({ name: 'desk', model: model(), output: z.object({ order: z.number() }) })
    const { output, status } = await agent.run('Which?')
    expect([status, output]).toEqual(['completed', { order: 17 }])
    expect(JSON.stringify(server.requests[0]?.body)).toMatch(/json_schema|"input_schema"/)
    expect(lastBody()).toContain('does not fit the required output')
    expect(lastBody()).toContain('Its JSON schema: {')
  })

  it('is asked again after a 429, when it said', async () => {
    server.play({ failure: { status: 429, retryAfterSeconds: 0, message: 'slow down' } }, { text: 'Now I can.' })
    const { events, result } = await watch(agentOf().stream('Can you?'))
    expect(result).toMatchObject({ status: 'completed', text: 'Now I can.' })
    expect(only(events, 'model.retry')).toMatchObject([{ model: name, attempt: 1, afterMs: 0, class: 'rate-limit' }])
    expect(server.requests).toHaveLength(2)
  })

  it('is asked again when its stream is cut; nothing of the first attempt is in the second', async () => {
    const text = 'Half an answer is better than none, they say.'
    server.play({ text, chunkSize: 4, cutAfterEvents: 9 }, { text: 'Full answer.' })
    const { events, result } = await watch(agentOf([atOnce]).stream('Well?'))
    expect(result).toMatchObject({ status: 'completed', text: 'Full answer.' })
    expect(transcript(result.messages)).toEqual(['user: Well?', 'assistant: Full answer.'])
    expect(only(events, 'model.retry')).toMatchObject([{ class: 'network', attempt: 1 }])
    const [discarded] = only(events, 'message.end').filter((event) => event.discarded)
    const first = textOf(discarded?.message ?? missing('nothing was discarded'))
    expect(first.length).toBeGreaterThan(0)
    expect(text.startsWith(first)).toBe(true)
    expect(lastBody()).not.toContain('Half an')
  })

  it('is cut in the middle of a call: no half of a call runs', async () => {
    server.play(
      { toolCalls: [{ name: 'look', input: { order: 17, note: 'x'.repeat(200) } }], chunkSize: 10, cutAfterEvents: 8 },
      { text: 'Never mind.' },
    )
    const result = await agentOf([atOnce]).run('Where is 17?')
    expect(result).toMatchObject({ status: 'completed', text: 'Never mind.' })
    expect(seen).toEqual([])
    assertWellFormed(result.messages)
  })

  it('fails for good: the run says what it was, and nothing is tried again', async () => {
    server.play({ failure: { status: 401, code: 'invalid_api_key', message: 'Incorrect API key provided' } })
    const { events, result } = await watch(agentOf().stream('Hello?'))
    expect(failure(result)).toMatchObject({ code: 'auth' })
    expect(server.requests).toHaveLength(1)
    expect(reported(events)).toEqual([expect.stringMatching(/^model .*Incorrect API key provided/)])
    expect(typesOf(events).at(-1)).toBe('agent.end')
    assertWellFormed(result.messages)
  })

  it('stops in mid-stream on an abort; what was said is kept, and the session continues', async () => {
    server.play(
      { text: 'A very long answer that no reader takes to its end. '.repeat(50), chunkSize: 10, delayMs: 10 },
      { text: 'Short.' },
    )
    const agent = agentOf()
    const stream = agent.stream('Tell me all')
    for await (const event of stream) if (event.type === 'text.delta') void stream.abort()
    const result = await stream.result
    expect(result.status).toBe('aborted')
    expect(result.messages.at(-1)).toMatchObject({ role: 'aborted', partial: true })
    expect(transcript(result.messages).at(-1)).toMatch(/^aborted: A very/)
    assertWellFormed(result.messages)
    const next = await agent.run('In short?', { sessionId: result.sessionId })
    expect(next).toMatchObject({ status: 'completed', text: 'Short.' })
    expect(lastBody()).toContain('Tell me all')
    expect(lastBody()).not.toContain('A very long')
  })
})

describe.each(['OpenAI Responses', 'Anthropic'])('%s that reasons', (which) => {
  const { model } = providers[which] ?? missing(which)
  const thinking = {
    anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } },
    openai: { reasoningSummary: 'auto', store: false },
  } as const

  it('gets its reasoning back with the signature, in the next step and in the next run', async () => {
    server.play(
      {
        reasoning: 'They ask about two orders.',
        signature: 'c2lnbmVk',
        toolCalls: [{ name: 'look', input: { order: 17 } }],
      },
      { text: 'On its way.' },
      { text: 'Still.' },
    )
    const agent = createAgent({ name: 'desk', model: model(), tools: [look], settings: { providerOptions: thinking } })
    const { events, result } = await watch(agent.stream('Where is 17?'))
    expect(only(events, 'reasoning.end')[0]).toMatchObject({ step: 1, text: 'They ask about two orders.' })
    expect(result.text).toBe('On its way.')
    await agent.run('And now?', { sessionId: result.sessionId })
    const bodies = server.requests.slice(1).map(({ body }) => JSON.stringify(body))
    for (const body of bodies) {
      expect(body).toContain('They ask about two orders.')
      expect(body.includes('c2lnbmVk')).toBe(which === 'Anthropic')
    }
  })

  it('does not get it back where the agent strips reasoning', async () => {
    server.play(
      {
        reasoning: 'They ask about two orders.',
        signature: 'c2lnbmVk',
        toolCalls: [{ name: 'look', input: { order: 17 } }],
      },
      { text: 'On its way.' },
    )
    const agent = createAgent({
      name: 'desk',
      model: model(),
      tools: [look],
      settings: { providerOptions: thinking },
      reasoningRetention: 'strip',
    })
    expect((await agent.run('Where is 17?')).text).toBe('On its way.')
    const body = JSON.stringify(server.requests.at(-1)?.body)
    expect(body).not.toContain('They ask about two orders.')
    expect(body).not.toContain('c2lnbmVk')
    expect(body).toContain('on its way 17')
  })
})

it('a stream that is cut is tried again by default, after a moment', async () => {
  server.play(
    { text: 'Half an answer is better than none.', chunkSize: 4, cutAfterEvents: 6 },
    { text: 'Full answer.' },
  )
  const agent = createAgent({
    name: 'desk',
    model: createOpenAI({ baseURL: server.baseURL, apiKey: 'test' }).chat('gpt-4.1'),
  })
  const { events, result } = await watch(agent.stream('Well?'))
  expect(result.text).toBe('Full answer.')
  expect(only(events, 'model.retry')[0]?.afterMs).toBeGreaterThanOrEqual(500)
})

it('a provider that knows JSON but no schema is told the schema, behind the instructions and in each request alike', async () => {
  server.play({ toolCalls: [{ name: 'look', input: { order: 17 } }] }, { text: '{"order":17}' })
  const model = createOpenAICompatible({ name: 'local', baseURL: server.baseURL })('llama')
  const output = z.object({ order: z.number() })
  const agent = createAgent({ name: 'desk', instructions: 'Help.', model, tools: [look], output })
  const { output: answer } = await agent.run('Which?')
  expect(answer).toEqual({ order: 17 })
  const bodies = server.requests.map(({ body }) => body as { messages: { role: string; content: string }[] })
  expect(bodies.map((body) => body.messages.slice(0, 3).map(({ role }) => role))).toEqual([
    ['system', 'system', 'user'],
    ['system', 'system', 'user'],
  ])
  expect(bodies[0]?.messages[1]?.content).toContain('"required":["order"]')
  expect(bodies[1]?.messages[1]).toEqual(bodies[0]?.messages[1])
  expect(bodies[0]).toMatchObject({ response_format: { type: 'json_object' } })
})

it('a provider that knows JSON but no schema is told the schema again in the repair round, with what did not fit', async () => {
  server.play({ text: 'It is order 17.' }, { text: '{"order":17}' })
  const model = createOpenAICompatible({ name: 'local', baseURL: server.baseURL })('llama')
  const agent = createAgent({ name: 'desk', model, output: z.object({ order: z.number() }) })
  const { output: answer } = await agent.run('Which?')
  expect(answer).toEqual({ order: 17 })
  const [first, repair] = server.requests.map(({ body }) => body as { messages: { role: string; content: string }[] })
  expect(first?.messages.map(({ role }) => role)).toEqual(['system', 'user'])
  expect(repair?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
  expect(first?.messages[0]?.content).toContain('"required":["order"]')
  expect(repair?.messages[0]).toEqual(first?.messages[0])
  expect(repair?.messages[3]?.content).toContain('JSON')
  for (const body of [first, repair]) expect(body).toMatchObject({ response_format: { type: 'json_object' } })
})

it('another provider takes over when one is out of service, with the whole history in its own format', async () => {
  const openai = createOpenAI({ baseURL: server.baseURL, apiKey: 'test' })('gpt-5')
  const anthropic = createAnthropic({ baseURL: server.baseURL, apiKey: 'test' })('claude-sonnet-5')
  server.play(
    {
      text: 'One moment.',
      toolCalls: [{ name: 'look', input: { order: 17 } }],
      usage: { inputTokens: 10, outputTokens: 1 },
    },
    { failure: { status: 503, message: 'down' } },
    { text: 'On its way.', usage: { inputTokens: 20, outputTokens: 2 } },
  )
  const agent = createAgent({
    name: 'desk',
    model: openai,
    tools: [look],
    extensions: [
      extension('fallback', {
        'model.error': ({ class: kind }) => (kind === 'capacity' ? { useModel: anthropic } : undefined),
      }),
    ],
  })
  const { events, result } = await watch(agent.stream('Where is 17?'))
  expect(result).toMatchObject({ status: 'completed', text: 'On its way.' })
  expect(only(events, 'model.fallback')).toMatchObject([
    { from: 'openai/gpt-5', to: 'anthropic/claude-sonnet-5', class: 'capacity' },
  ])
  expect(server.requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses', '/v1/messages'])
  expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('on its way 17')
  expect(result.usage.byModel).toMatchObject({
    'openai/gpt-5': { inputTokens: 10, outputTokens: 1 },
    'anthropic/claude-sonnet-5': { inputTokens: 20, outputTokens: 2 },
  })
})
