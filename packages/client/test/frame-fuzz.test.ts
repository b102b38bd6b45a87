import { createEventEncoder, ProvostError } from '@provost/core'
import type { AgentEvent } from '@provost/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { framesOf } from '../src/frame-reader.ts'
import type { Frame } from '../src/frame-reader.ts'

const base = { runId: 'r', step: 1, agent: 'a', parents: [], at: 1_000 }
const delta = (seq: number, text: string): AgentEvent => ({
  ...{ ...base, seq, id: `s:3~${seq}`, type: 'text.delta', messageId: 'm', attempt: 1, partId: '0', delta: text },
})
const encoder = createEventEncoder()
const end = { type: 'execute_complete', sessionId: 's', status: 'completed', text: 'x', pending: {} }
/** A stream as the server writes it. */
const whole = [
  ': the heartbeat\n\n',
  ...[delta(1, 'Grüße, 你好 👋\u2028'), delta(2, ' and more')].flatMap((event) =>
    encoder
      .encode(event, 's', `3~${event.seq}`)
      .map((frame) => `id: 3~${event.seq}\nevent: ${frame.event}\ndata: ${frame.data}\n\n`),
  ),
  `event: execute_complete\ndata: ${encoder.complete(end).data}\n\n`,
].join('')
const bytes = new TextEncoder().encode(whole)

/** Reads frames from bytes that arrive in pieces, whose lengths repeat. */
async function read(sent: Uint8Array, lengths: readonly number[]): Promise<readonly Frame[]> {
  const pieces: Uint8Array[] = []
  for (let at = 0, n = 0; at < sent.length; n++) {
    const length = lengths[n % lengths.length] ?? 1
    pieces.push(sent.slice(at, at + length))
    at += length
  }
  const inPieces = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift()
      if (piece) controller.enqueue(piece)
      else controller.close()
    },
  })
  const frames: Frame[] = []
  for await (const frame of framesOf(new Response(inPieces), AbortSignal.any([]))) frames.push(frame)
  return frames
}

const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })

test('frames are the same, in whatever pieces their bytes arrive', async () => {
  const expected = await read(bytes, [bytes.length])
  expect(expected).toHaveLength(3)
  await fc.assert(
    fc.asyncProperty(lengths, async (cut) => {
      expect(await read(bytes, cut)).toEqual(expected)
    }),
  )
})

const damage = fc.oneof(
  fc.record({ at: fc.nat(bytes.length), drop: fc.nat(60), put: fc.uint8Array({ maxLength: 20 }) }),
  fc.record({
    at: fc.nat(bytes.length),
    drop: fc.nat(3),
    put: fc
      .constantFrom(
        '\n\n',
        'data: null\n\n',
        'data: {"type":1}\n\n',
        'event: \n',
        '\r',
        '"',
        '{',
        'retry: x\n',
        '\uFEFF',
      )
      .map((text) => new TextEncoder().encode(text)),
  }),
)

test('a stream with any damage is read, or fails as one that can be asked for again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 3 }), lengths, async (places, cut) => {
      let sent = [...bytes]
      for (const { at, drop, put } of places) sent = [...sent.slice(0, at), ...put, ...sent.slice(at + drop)]
      try {
        await read(Uint8Array.from(sent), cut)
      } catch (error) {
        if (!(error instanceof ProvostError) || !error.retryable) throw error
      }
    }),
  )
})
