import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createAgent } from '@provost/agent'
import type { Json } from '@provost/core'
import { compaction } from '@provost/memory'
import { memoryStore } from '@provost/sessions'
import { expect, test } from 'vitest'

import { entriesOf, fetchPage } from '../fixture/compaction-scenario.ts'

/** The body of a request: OpenAI receives `input`, Anthropic `messages`. */
interface Body {
  readonly input: readonly Json[]
  readonly messages: readonly Json[]
  readonly context_management?: Json
}

/** Starts a server that responds with events. */
async function startServer(answer: (n: number) => readonly { readonly type: string }[]) {
  const bodies: Body[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      bodies.push(JSON.parse(text))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const events = answer(bodies.length)
      response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()))
  return { bodies, baseURL: `http://127.0.0.1:${port}/v1`, close }
}

/** Starts a server for OpenAI Responses that compacts in the responses with the numbers `compacts`. */
function startResponses(compacts: readonly number[]) {
  return startServer((n) => {
    const item = { type: 'compaction', id: `cmp_${n}`, encrypted_content: `opaque ${n}` }
    const message = { type: 'message', id: `msg_${n}`, role: 'assistant', content: [] }
    return [
      { type: 'response.created', response: { id: `resp_${n}`, created_at: 0, model: 'gpt-4.1' } },
      ...(compacts.includes(n) ? [{ type: 'response.output_item.done', output_index: 0, item }] : []),
      { type: 'response.output_item.added', output_index: 1, item: message },
      { type: 'response.output_text.delta', item_id: `msg_${n}`, delta: `answer ${n}` },
      { type: 'response.output_item.done', output_index: 1, item: message },
      { type: 'response.completed', response: { usage: { input_tokens: 10, output_tokens: 2 } } },
    ]
  })
}

test.for([
  ['by its id when OpenAI stores it', true, { type: 'item_reference', id: 'cmp_2' }],
  ['unchanged when OpenAI stores nothing', false, { type: 'compaction', encrypted_content: 'opaque 2' }],
] as const)('messages that OpenAI compacted are not sent again, and its item is sent %s', async ([, keeps, item]) => {
  const server = await startResponses([2])
  try {
    const store = memoryStore()
    const agent = createAgent({
      name: 'a',
      model: createOpenAI({ baseURL: server.baseURL, apiKey: 'test' })('gpt-4.1'),
      store,
      settings: { providerOptions: { openai: { store: keeps } } },
      extensions: [compaction({ strategy: ['provider', 'summarize'], window: 200_000, threshold: 0.5 })],
    })
    const session = await agent.createSession({ id: 's' })
    const cuts: unknown[] = []
    session.on('context.compacted', ({ source, beforeTokens, afterTokens }) => {
      cuts.push({ source, shorter: afterTokens < beforeTokens })
    })
    for (const text of ['first request', 'second request', 'third request', 'fourth request']) {
      session.send(text)
      expect((await session.waitForIdle())?.status).toBe('completed')
    }
    expect(cuts).toEqual([{ source: 'step', shorter: true }])
    const sent = server.bodies.map(({ input }) => JSON.stringify(input))
    expect(sent[1]).toContain('first request')
    expect(sent[2]).not.toContain('first request')
    expect(sent[2]).toContain('third request')
    for (const { input } of server.bodies.slice(2)) expect(input).toContainEqual(expect.objectContaining(item))
    // The prefix is unchanged from then on.
    expect(server.bodies[3]?.input.slice(0, server.bodies[2]?.input.length)).toEqual(server.bodies[2]?.input)
    // The log keeps all messages.
    const entries = await entriesOf(store, 's')
    expect(entries.filter(({ type }) => type === 'message')).toHaveLength(8)
  } finally {
    await server.close()
  }
})

test('messages that Anthropic compacted are replaced by its summary, which is not a response, and the request is repeated', async () => {
  // The response to the second request calls a tool and contains a compaction.
  const server = await startServer((n) => {
    const blocks: readonly Json[] = [
      ...(n === 2 ? [{ type: 'compaction', content: null }] : []),
      n === 2 ? { type: 'tool_use', id: 'toolu_1', name: 'fetch_page', input: {} } : { type: 'text', text: '' },
    ]
    const deltas: Readonly<Record<string, Json>> = {
      compaction: { type: 'compaction_delta', content: 'They spoke of order 17.' },
      tool_use: { type: 'input_json_delta', partial_json: '{"name":"p","tokens":5}' },
      text: { type: 'text_delta', text: `answer ${n}` },
    }
    const usage = { input_tokens: 10, output_tokens: 2 }
    const message = { id: `msg_${n}`, type: 'message', role: 'assistant', model: 'claude-opus-5', content: [], usage }
    return [
      { type: 'message_start', message },
      ...blocks.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_delta', index, delta: deltas[String(Object(block).type)] },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: n === 2 ? 'tool_use' : 'end_turn' }, usage },
      { type: 'message_stop' },
    ]
  })
  try {
    const agent = createAgent({
      name: 'a',
      model: createAnthropic({ baseURL: server.baseURL, apiKey: 'test' })('claude-opus-5'),
      tools: [fetchPage],
      store: memoryStore(),
      extensions: [compaction({ strategy: ['provider', 'summarize'], window: 200_000, threshold: 0.5 })],
    })
    const session = await agent.createSession({ id: 's' })
    let shown = ''
    session.on('text.delta', ({ delta }) => void (shown += delta))
    const cuts: unknown[] = []
    session.on('context.compacted', ({ beforeTokens, afterTokens }) => cuts.push(afterTokens < beforeTokens))
    for (const text of ['first request', 'second request', 'third request']) {
      session.send(text)
      expect((await session.waitForIdle())?.status).toBe('completed')
    }
    expect(shown).toBe('answer 1answer 3answer 4')
    expect(cuts).toEqual([true])
    expect(server.bodies[0]).toMatchObject({
      context_management: {
        edits: [
          { type: 'clear_tool_uses_20250919', trigger: { value: 100_000 } },
          { type: 'compact_20260112', trigger: { value: 130_000 } },
        ],
      },
    })
    const [, , step, last] = server.bodies.map(({ messages }) => JSON.stringify(messages))
    const summary = '{"type":"compaction","content":"They spoke of order 17."'
    expect(step).not.toContain('first request')
    const [before = '', after = ''] = step?.split(summary) ?? []
    expect(before).toContain('second request')
    // The model does not read messages before the summary.
    expect(after.split('second request')).toHaveLength(2)
    expect(last?.split(summary)).toHaveLength(2)
    expect(last?.split(summary)[1]).not.toContain('second request')
    expect(last).toContain('third request')
  } finally {
    await server.close()
  }
})
