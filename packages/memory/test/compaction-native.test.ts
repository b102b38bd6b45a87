import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { createOpenAI } from '@ai-sdk/openai'
import { createAgent } from '@provost/agent'
import type { Json } from '@provost/core'
import { compaction } from '@provost/memory'
import { memoryStore } from '@provost/sessions'
import { expect, test } from 'vitest'

import { entriesOf } from './compaction-scenario.ts'

/** A server that answers as OpenAI's Responses do, and compacts in the answers that `compacts` names. */
async function startResponses(compacts: readonly number[]) {
  const bodies: { readonly input: readonly Json[] }[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      bodies.push(JSON.parse(text))
      const n = bodies.length
      const item = { type: 'compaction', id: `cmp_${n}`, encrypted_content: `opaque ${n}` }
      const message = { type: 'message', id: `msg_${n}`, role: 'assistant', content: [] }
      const events = [
        { type: 'response.created', response: { id: `resp_${n}`, created_at: 0, model: 'gpt-4.1' } },
        ...(compacts.includes(n) ? [{ type: 'response.output_item.done', output_index: 0, item }] : []),
        { type: 'response.output_item.added', output_index: 1, item: message },
        { type: 'response.output_text.delta', item_id: `msg_${n}`, delta: `answer ${n}` },
        { type: 'response.output_item.done', output_index: 1, item: message },
        { type: 'response.completed', response: { usage: { input_tokens: 10, output_tokens: 2 } } },
      ]
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()))
  return { bodies, baseURL: `http://127.0.0.1:${port}/v1`, close }
}

test.for([
  ['by its id, where OpenAI keeps it', true, { type: 'item_reference', id: 'cmp_2' }],
  ['as it was given, where OpenAI keeps nothing', false, { type: 'compaction', encrypted_content: 'opaque 2' }],
] as const)('what OpenAI has compacted is not sent again, and its item is sent %s', async ([, keeps, item]) => {
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
    // The prefix stands still from then on.
    expect(server.bodies[3]?.input.slice(0, server.bodies[2]?.input.length)).toEqual(server.bodies[2]?.input)
    // The log keeps all.
    const entries = await entriesOf(store, 's')
    expect(entries.filter(({ type }) => type === 'message')).toHaveLength(8)
  } finally {
    await server.close()
  }
})
