import { expect, test } from 'vitest'

import { paced, readPaced } from '../paced.ts'
import { ask } from '../served.ts'

const words = Array.from({ length: 35 }, (_, n) => `word number ${n} of an answer that is long, `)
const go = { id: 'm', role: 'user', content: 'go' }
const chat = { id: 'c', trigger: 'submit-message', messages: [{ ...go, parts: [{ type: 'text', text: 'go' }] }] }
const completion = { model: 'desk', stream: true, messages: [{ role: 'user', content: 'go' }] }

/** Bytes of an answer of 1.5 KB in 35 deltas, as each protocol sends it: as it is, and compressed. */
const protocols = [
  ['useChat', '/api/chat', chat, /"text-delta"/gu, 6_500, 1_500],
  ['AG-UI', '/ag-ui/desk', { threadId: 't', runId: 'r', messages: [go] }, /"TEXT_MESSAGE_CONTENT"/gu, 6_500, 1_500],
  ['Chat Completions', '/v1/chat/completions', completion, /"delta":\{"content"/gu, 10_000, 1_500],
  // The document requires the text four times, a whole response three times, and six fields with each delta.
  ['Open Responses', '/v1/responses', { model: 'desk', stream: true, input: 'go' }, /_text\.delta\n/gu, 19_000, 4_000],
] as const

test.for(protocols)('an answer of 1.5 KB in 35 deltas is small in %s', async ([, path, body, delta, plain, small]) => {
  for (const [encoding, most] of [
    ['identity', plain],
    ['gzip', small],
  ] as const) {
    const world = paced(words)
    const response = await ask(world.server, path, { body, headers: { 'accept-encoding': encoding } })
    expect(response.headers.get('content-encoding')).toBe(encoding === 'gzip' ? 'gzip' : null)
    let bytes = 0
    const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        bytes += chunk.length
        controller.enqueue(chunk)
      },
    })
    const sent = response.body?.pipeThrough(counted)
    const read = encoding === 'gzip' ? sent?.pipeThrough(new DecompressionStream('gzip')) : sent
    const { text, deltas } = await readPaced(world, new Response(read), delta)
    // Each delta arrives before the next one is written, also compressed.
    expect(deltas).toBe(35)
    expect(text).toContain('word number 34 of')
    expect(bytes).toBeLessThan(most)
  }
})
