import { setTimeout } from 'node:timers/promises'

import type { HttpBindings } from '@hono/node-server'
import { createAgent } from '@provost/agent'
import { createServer, serve } from '@provost/server'
import type { Server } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import type { Frame } from '../served.ts'
import { ask, executed, framesIn, serverOf } from '../served.ts'

const lastingIn = (frames: readonly Frame[]): readonly string[] =>
  frames.flatMap(({ id }) => (id?.includes('.') ? [id] : []))

async function allOf(server: Server, id: string): Promise<readonly string[]> {
  return lastingIn(framesIn(await (await ask(server, `/api/agent/session/${id}/events`)).text()))
}

test('a reader that falls behind limits.waitingBytes receives every durable event on the same stream', async () => {
  const note = tool({
    name: 'note',
    effect: 'read',
    input: z.object({ text: z.string() }),
    execute: () => 'y'.repeat(10_000),
  })
  const calls = Array.from({ length: 20 }, () => ({ name: 'note', input: { text: 'x'.repeat(5_000) } }))
  const store = memoryStore()
  const model = scriptedModel([{ toolCalls: calls }, { text: 'end' }])
  const agent = createAgent({ name: 'desk', model, tools: [note], store })
  const server = createServer({ agents: [agent], store, limits: { waitingBytes: 20_000 } })
  const response = await ask(server, '/api/agent/execute', { body: { input: 'x' } })
  const id = response.headers.get('x-session-id') ?? ''
  const watching = await ask(server, `/api/agent/session/${id}/events`)
  const all = await allOf(server, id)
  for (const slow of [response, watching]) {
    const frames = framesIn(await slow.text())
    expect(frames.at(-1)?.data).toMatchObject({ type: 'execute_complete', status: 'completed', text: 'end' })
    expect(lastingIn(frames)).toEqual(all)
  }
  await server.close()
})

test('for a reader that does not read, few pieces are buffered, however long an event is', async () => {
  const text = '\u{1f600}'.repeat(500_000)
  const server = serverOf([{ text }])
  const { id, last } = await executed(server, { input: 'x' })
  expect(last.text === text, 'no character is cut in two').toBe(true)
  const { body } = await ask(server, `/api/agent/session/${id}/events`)
  let [total, longest] = [0, 0]
  for await (const { length } of body ?? []) {
    total += length
    longest = Math.max(longest, length)
  }
  expect(total).toBeGreaterThan(2_000_000)
  expect(longest).toBeLessThan(70_000)
  await server.close()
})

test('a connection that makes no progress is closed, frees its place, and misses no event when it resumes', async () => {
  const server = serverOf([{ text: 'x'.repeat(8_000_000) }], { limits: { connections: 1 } })
  const { id } = await executed(server, { input: 'x' })
  const all = await allOf(server, id)
  const outgoing: HttpBindings['outgoing'][] = []
  const fetchOf: Server['fetch'] = (request, env) => {
    outgoing.push((env as HttpBindings).outgoing)
    return server.fetch(request, env)
  }
  const listening = await serve({ ...server, fetch: fetchOf }, { port: 0, stalledMs: 123_456 })
  const follow = (last?: string): Promise<Response> =>
    fetch(`${listening.url}/api/agent/session/${id}/events`, {
      headers: {
        authorization: 'Bearer ann',
        'accept-encoding': 'identity',
        ...(last !== undefined && { 'last-event-id': last }),
      },
    })
  const reader = (await follow()).body?.getReader()
  const decoder = new TextDecoder()
  let text = decoder.decode((await reader?.read())?.value, { stream: true })
  expect((await follow()).status).toBe(429)
  /** Retries until the server has room for another connection. */
  const follows = async (last?: string): Promise<Response> => {
    for (;;) {
      const response = await follow(last)
      if (response.status === 200) return response
      await response.text()
      await setTimeout(10)
    }
  }
  const [stalled] = outgoing
  const unsent = (): number => stalled?.writableLength ?? 0
  while (unsent() === 0) await setTimeout(1)
  expect(stalled?.socket?.timeout).toBe(123_456)
  // Node does this once the socket makes no progress for `stalledMs`.
  stalled?.socket?.emit('timeout')
  await (await follows()).body?.cancel()
  await expect(
    (async () => {
      for (;;) {
        const part = await reader?.read()
        if (!part || part.done) return
        text += decoder.decode(part.value, { stream: true })
      }
    })(),
  ).rejects.toBeInstanceOf(Error)
  const had = framesIn(text.slice(0, text.lastIndexOf('\n\n') + 2))
  const rest = framesIn(await (await follows(lastingIn(had).at(-1))).text())
  expect(rest.at(-1)?.data.type).toBe('execute_complete')
  expect([...lastingIn(had), ...lastingIn(rest)]).toEqual(all)
  await listening.close()
})

test('a response that its client does not read is destroyed after stalledMs', async () => {
  const server = serverOf([])
  const over = Promise.withResolvers<void>()
  server.app.get('/long', ({ env }) => {
    const { outgoing } = env as HttpBindings
    outgoing.once('close', over.resolve)
    return new Response('x'.repeat(30_000_000))
  })
  const listening = await serve(server, { port: 0, stalledMs: 100 })
  const { body } = await fetch(`${listening.url}/long`)
  // A reader from the start: `Response` rejects a body that has already failed.
  const reader = body?.getReader()
  await over.promise
  await expect(
    (async () => {
      while ((await reader?.read())?.done === false);
    })(),
  ).rejects.toBeInstanceOf(Error)
  await listening.close()
})
