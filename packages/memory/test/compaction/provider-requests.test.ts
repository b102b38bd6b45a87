import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createAgent } from '@provost/agent'
import type { Extension, LanguageModelV4 } from '@provost/core'
import { defineExtension } from '@provost/core'
import { compaction } from '@provost/memory'
import { startAimock } from '@provost/testing'
import type { Aimock } from '@provost/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { fetchPage, page, words } from '../fixture/compaction-scenario.ts'

let server: Aimock
beforeAll(async () => {
  server = await startAimock()
})
afterAll(() => server.close())

interface Provider {
  readonly model: () => LanguageModelV4
  /** The field of a body that holds the messages. */
  readonly list: string
}
const providers: Readonly<Record<string, Provider>> = {
  'OpenAI Responses': {
    model: () => createOpenAI({ baseURL: server.baseURL, apiKey: 'test' })('gpt-4.1'),
    list: 'input',
  },
  'OpenAI Chat': {
    model: () => createOpenAI({ baseURL: server.baseURL, apiKey: 'test' }).chat('gpt-4.1'),
    list: 'messages',
  },
  Anthropic: {
    model: () => createAnthropic({ baseURL: server.baseURL, apiKey: 'test' })('claude-haiku-4-5'),
    list: 'messages',
  },
}

type Body = Readonly<Record<string, unknown>>
function bodies(from: number): readonly Body[] {
  return server.requests.slice(from).map(({ body }) => Object(body))
}
function listed(body: Body, list: string): readonly string[] {
  const { [list]: messages } = body
  return Array.isArray(messages) ? messages.map((message) => JSON.stringify(message)) : []
}
function isSummary(body: Body): boolean {
  return JSON.stringify(body).includes('You sum up the earlier part')
}

/** Groups consecutive requests: each request of a group starts with the bytes of the previous one. */
function prefixGroups(requests: readonly Body[], list: string): readonly (readonly Body[])[] {
  const groups: Body[][] = []
  for (const body of requests) {
    const last = groups.at(-1)?.at(-1)
    const before = last ? listed(last, list) : []
    const now = listed(body, list)
    const { [list]: _, ...rest } = body
    const { [list]: __, ...same } = last ?? {}
    const continues = last && before.every((message, at) => message === now[at])
    // Tools, instructions and settings precede the messages or are separate fields.
    expect(JSON.stringify(rest)).toBe(JSON.stringify(last ? same : rest))
    if (continues) groups.at(-1)?.push(body)
    else groups.push([body])
  }
  return groups
}

/** A session of several turns with calls. */
async function talk(model: LanguageModelV4, turns: number, window: number, extensions: readonly Extension[] = []) {
  const from = server.requests.length
  const agent = createAgent({
    name: 'a',
    instructions: 'You help.',
    model,
    tools: [fetchPage],
    extensions: [...extensions, compaction({ window, keepRecent: 400 })],
  })
  let cuts = 0
  const session = await agent.createSession({})
  session.on('context.compacted', () => void cuts++)
  for (let turn = 0; turn < turns; turn++) {
    session.send(`${words(60)} turn ${turn}`)
    const result = await session.waitForIdle()
    expect(result?.status).toBe('completed')
  }
  return { sessionId: session.id, requests: bodies(from).filter((body) => !isSummary(body)), cuts }
}

/** Each turn calls a tool once, then responds. */
function playTurns(): void {
  server.on(({ messages }) => JSON.stringify(messages).includes('You sum up'), { text: 'They talked.' })
  server.on(({ messages }) => messages.at(-1)?.role === 'tool', { text: words(20) })
  server.on(() => true, { toolCalls: [{ ...page(60), id: 'call_0' }] })
}

describe.each(Object.entries(providers))('a request to %s', (name, { model, list }) => {
  beforeAll(playTurns)

  it('begins with the bytes of the previous request until a compaction', async () => {
    const { requests, cuts } = await talk(model(), 10, 1700)
    expect(cuts).toBeGreaterThan(0)
    const groups = prefixGroups(requests, list)
    expect(groups).toHaveLength(cuts + 1)
    // Few cuts, large ones.
    expect(requests.length / groups.length).toBeGreaterThan(3)
  })

  it('marks the cache breakpoints, the same in each request', async () => {
    const { requests, sessionId } = await talk(model(), 2, 100_000)
    const point = { cache_control: { type: 'ephemeral' } }
    const expected =
      name === 'Anthropic' ? { ...point, system: [{ text: 'You help.', ...point }] } : { prompt_cache_key: sessionId }
    for (const body of requests) {
      expect(body).toMatchObject(expected)
      expect(listed(body, list).join()).not.toContain('cache_control')
    }
  })
})

it('the ephemeral messages to Anthropic follow the last cache breakpoint', async () => {
  const tail = defineExtension({
    name: 'tail',
    hooks: { 'model.request': () => ({ tail: [{ content: 'It rains.' }] }) },
  })
  const { requests } = await talk(providers['Anthropic']?.model() ?? unknownProvider(), 2, 100_000, [tail])
  for (const body of requests) {
    expect(body['cache_control']).toBeUndefined()
    const messages = listed(body, 'messages')
    expect(messages.join().match(/cache_control/g)).toHaveLength(1)
    const [before = '', after] = messages.join().split('"cache_control":{"type":"ephemeral"}')
    expect(before).not.toContain('It rains.')
    expect(after).toContain('It rains.')
  }
})

it('cache options of the user replace the default breakpoints', async () => {
  const from = server.requests.length
  const anthropic = providers['Anthropic']?.model() ?? unknownProvider()
  const own = { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } }
  await createAgent({ name: 'a', model: anthropic, instructions: 'Hi.', settings: { providerOptions: own } }).run('hi')
  await createAgent({ name: 'a', model: anthropic, instructions: 'Hi.', settings: { promptCaching: 'off' } }).run('hi')
  const [with1h, off] = [bodies(from)[0], bodies(from).at(-1)]
  expect(with1h).toMatchObject({ cache_control: { ttl: '1h' }, system: [{ text: 'Hi.' }] })
  expect(JSON.stringify(off)).not.toContain('cache_control')
})

describe('the provider strategy', () => {
  const asking = { strategy: ['provider', 'summarize'], window: 200_000, threshold: 0.5 } as const

  it.for([
    ['OpenAI Responses', { context_management: [{ type: 'compaction', compact_threshold: 100_000 }] }],
    ['Anthropic', { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }],
  ] as const)('sends the compaction option of %s', async ([name, expected]) => {
    const from = server.requests.length
    const model = providers[name]?.model() ?? unknownProvider()
    await createAgent({ name: 'a', model, extensions: [compaction(asking)] }).run('hi')
    expect(bodies(from)[0]).toMatchObject(expected)
  })

  it('sends no option to a provider without native compaction', async () => {
    const from = server.requests.length
    const model = providers['OpenAI Chat']?.model() ?? unknownProvider()
    await createAgent({ name: 'a', model, extensions: [compaction(asking)] }).run('hi')
    expect(bodies(from)[0]).not.toHaveProperty('context_management')
  })
})

it('a provider that rejects a request as too long receives a shorter one, once', async () => {
  const own = await startAimock()
  try {
    own.play({ failure: { status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum' } })
    own.on(({ messages }) => JSON.stringify(messages).includes('You sum up'), { text: 'They talked.' })
    own.on(() => own.requests.length > 1, { text: 'done' })
    const model = createAnthropic({ baseURL: own.baseURL, apiKey: 'test' })('claude-haiku-4-5')
    const history = Array.from(
      { length: 9 },
      (_, at) => ({ role: at % 2 ? 'assistant' : 'user', content: words(90) }) as const,
    )
    const result = await createAgent({ name: 'a', model, extensions: [compaction()] }).run(history)
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    const sizes = own.requests
      .filter(({ body }) => !isSummary(Object(body)))
      .map(({ body }) => JSON.stringify(body).length)
    expect(sizes).toHaveLength(2)
    expect(sizes[1]).toBeLessThan(sizes[0] ?? 0)
  } finally {
    await own.close()
  }
})

function unknownProvider(): never {
  throw new Error('There is no such provider in this test.')
}
