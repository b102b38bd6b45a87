import { Chat } from '@ai-sdk/react'
import { createAgent } from '@provost/agent'
import type { ChatMessage } from '@provost/client/ai'
import { chatTransport } from '@provost/client/ai'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const wait = tool({
  name: 'wait',
  effect: 'read',
  input: z.object({ hours: z.number() }),
  execute: ({ hours }, { signal }): Promise<{ waited: number }> =>
    new Promise((resolve, reject) => {
      if (hours === 0) resolve({ waited: hours })
      signal.addEventListener('abort', () => reject(new Error('stopped')))
    }),
})

type Message = ChatMessage<{ wait: typeof wait }>

function world(hours: number) {
  const store = memoryStore()
  const model = scriptedModel([{ toolCalls: [{ name: 'wait', input: { hours } }] }, { text: 'done' }, { text: 'bye' }])
  const server = createServer({ agents: [createAgent({ name: 'desk', model, tools: [wait], store })], store })
  const bodies: { readonly path: string; readonly body: unknown }[] = []
  const chat = new Chat<Message>({
    id: 'c',
    transport: chatTransport<Message>({
      api: 'http://localhost/api/chat',
      headers: async () => ({ 'x-page': 'yes' }),
      async fetch(url, init) {
        const request = new Request(url, init)
        expect(request.headers.get('x-page')).toBe('yes')
        const body = request.method === 'POST' ? await request.clone().json() : undefined
        bodies.push({ path: new URL(request.url).pathname, body })
        return server.fetch(request)
      },
    }),
  })
  return { chat, bodies, server, store }
}

test('a request has only the last message, and the parts of tools have their types', async () => {
  const { chat, bodies } = world(0)
  await chat.sendMessage({ text: 'wait' })
  await chat.sendMessage({ text: 'thanks' })
  expect(bodies.map(({ body }) => body)).toMatchObject([
    { id: 'c', message: { role: 'user', parts: [{ text: 'wait' }] }, trigger: 'submit-message' },
    { id: 'c', message: { role: 'user', parts: [{ text: 'thanks' }] } },
  ])
  expect(JSON.stringify(bodies[1])).not.toContain('"wait"')
  for (const part of chat.messages.flatMap(({ parts }) => parts)) {
    if (part.type !== 'tool-wait' || part.state !== 'output-available') continue
    expectTypeOf(part.input).toEqualTypeOf<{ hours: number }>()
    expectTypeOf(part.output).toEqualTypeOf<{ readonly waited: number }>()
    expect(part.output.waited).toBe(0)
  }
  expect(chat.messages[1]?.metadata?.runId).toBe(chat.messages[1]?.id)
})

test('stop ends the run on the server, and the chat continues', async () => {
  const { chat, bodies, store } = world(1)
  const sent = chat.sendMessage({ text: 'wait' })
  await expect.poll(() => chat.messages.at(-1)?.parts.at(-1)).toMatchObject({ state: 'input-available' })
  const runId = chat.messages.at(-1)?.id
  await chat.stop()
  await sent
  expect(bodies.at(-1)).toEqual({ path: '/api/chat/c/stop', body: { runId } })
  const statusOf = async (): Promise<unknown> => {
    for await (const { status } of store.list()) return status
    return undefined
  }
  await expect.poll(statusOf).toBe('idle')
  await chat.sendMessage({ text: 'go on' })
  expect(chat.messages.at(-1)?.parts.at(-1)).toMatchObject({ type: 'text', text: 'done' })
})

test('an unknown option is an error', () => {
  const options: object = { baseUrl: 'http://localhost' }
  expect(() => chatTransport(options)).toThrow(expect.objectContaining({ code: 'unknown-option' }))
})
