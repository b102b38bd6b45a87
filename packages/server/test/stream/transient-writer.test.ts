import { createAgent } from '@provost/agent'
import type { TransientPiece, SessionStore } from '@provost/core'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { ask } from '../served.ts'

afterEach(() => void vi.useRealTimers())

/** A store that records the ephemeral events that are written to it. */
function overheard(): { readonly store: SessionStore; readonly heard: () => string } {
  const pieces: TransientPiece[] = []
  const buffer: SessionStore['transient'] = {
    async keep(more) {
      pieces.push(...more)
      return []
    },
    read: async () => [],
    async drop() {},
  }
  return { store: { ...memoryStore(), transient: buffer }, heard: () => pieces.map(({ body }) => body).join() }
}

async function turnsUntil(done: () => boolean): Promise<void> {
  for (let turns = 0; turns < 10_000 && !done(); turns++) await new Promise(setImmediate)
}

test('the text of each message reaches the store for other processes within 100 ms', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const { store, heard } = overheard()
  const spoken = scriptedModel([
    { text: 'the first', toolCalls: [{ name: 'look', input: {} }] },
    { text: ['the second', ' and more'] },
  ])
  const doStream: typeof spoken.doStream = async (options) => {
    const { stream, ...rest } = await spoken.doStream(options)
    const silent = ++asked === 2
    type Part = typeof stream extends ReadableStream<infer P> ? P : never
    const cut = new TransformStream<Part, Part>({
      async transform(part, controller) {
        // The model stops forever in the middle of its text.
        if (silent && part.type === 'text-delta' && part.delta.includes('more')) await new Promise(() => {})
        controller.enqueue(part)
      },
    })
    return { stream: stream.pipeThrough(cut), ...rest }
  }
  let asked = 0
  const agent = createAgent({
    name: 'desk',
    store,
    model: { ...spoken, doStream },
    tools: [tool({ name: 'look', input: z.object({}), execute: () => 'looked' })],
  })
  const server = createServer({ agents: [agent], store })
  await ask(server, '/api/agent/execute', { body: { input: 'go' } })
  await turnsUntil(() => asked === 2)
  await turnsUntil(() => heard().includes('the first'))
  await vi.advanceTimersByTimeAsync(100)
  await turnsUntil(() => heard().includes('the second'))
  expect(heard()).toContain('the second')
  vi.useRealTimers()
  await server.close({ graceMs: 0 })
})
