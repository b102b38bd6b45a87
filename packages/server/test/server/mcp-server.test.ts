import type { ClientOptions } from '@modelcontextprotocol/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createAgent } from '@provost/agent'
import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { mcpTools, tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { ask, deskOf, serverOf } from '../served.ts'

test('the MCP server exposes agents as tools, and a pending approval is stated in the result', async () => {
  const store = memoryStore()
  const desk = deskOf([{ text: 'refunded' }, { toolCalls: [{ name: 'refund', input: { amount: 80 } }] }], store)
  const listening = await serve(createServer({ agents: [desk], store }), { port: 0 })
  await using remote = await mcpTools({ name: 'office', transport: { type: 'http', url: `${listening.url}/mcp` } })
  const calls = [{ name: 'desk', input: { input: 'refund 20' } }]
  const model = scriptedModel([{ toolCalls: calls }, { toolCalls: calls }, { text: 'told' }])
  const { messages } = await createAgent({ name: 'boss', model, tools: remote.tools }).run('go')
  const said = JSON.stringify(messages)
  expect(said).toMatch(/refunded.+session [0-9a-f-]{36}/u)
  expect(said).toContain('It waits for a human: refund')
  await listening.close({ graceMs: 0 })
})

test('MCP rejects unknown callers and pages of another origin', async () => {
  const server = serverOf([])
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  expect((await ask(server, '/mcp', { body, as: '!' })).status).toBe(401)
  const from = async (origin: string, to = server): Promise<number> =>
    (await ask(to, '/mcp', { body, headers: { origin, accept: 'application/json, text/event-stream' } })).status
  expect(await from('https://evil.example')).toBe(403)
  expect(await from('http://localhost.evil.example')).toBe(403)
  expect(await from('null')).toBe(403)
  for (const own of ['http://localhost', 'http://127.0.0.1:8080', 'http://[::1]:3000'])
    expect(await from(own)).toBe(200)
  const behind = serverOf([], { publicUrl: 'https://agents.example/api' })
  expect(await from('https://agents.example', behind)).toBe(200)
})

describe.each<[string, ClientOptions]>([
  ['of 2026', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
  ['of 2025', { versionNegotiation: { mode: 'legacy' } }],
])('an MCP client %s', (name, options) => {
  async function clientOf(stopped: PromiseWithResolvers<void>) {
    const store = memoryStore()
    const slow = tool({
      name: 'slow',
      effect: 'read',
      input: z.object({ waits: z.boolean() }),
      execute: ({ waits }, { signal }) =>
        new Promise<string>((resolve) => {
          if (!waits) resolve('at once')
          signal.addEventListener('abort', () => (stopped.resolve(), resolve('stopped')))
        }),
    })
    const model = scriptedModel(
      [
        ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { text: 'done' }
            : { toolCalls: [{ name: 'slow', input: { waits: JSON.stringify(messages).includes('wait for me') } }] },
      ],
      { after: 'repeat-last' },
    )
    const agent = createAgent({
      name: 'desk',
      description: 'Answers questions on orders.',
      model,
      tools: [slow],
      store,
    })
    const server = createServer({ agents: [agent], store })
    const client = new Client({ name: 'test', version: '1' }, options)
    const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> =>
      server.fetch(new Request(url, init))
    await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch }))
    return { client, store }
  }

  test('sees what the agent says of itself, its progress and its session', async () => {
    const { client } = await clientOf(Promise.withResolvers())
    expect((await client.listTools()).tools).toMatchObject([
      { name: 'desk', description: 'Answers questions on orders.' },
    ])
    const seen: string[] = []
    const result = await client.callTool(
      { name: 'desk', arguments: { input: 'hello' } },
      { onprogress: ({ progress, message }) => void seen.push(`${progress} ${message}`) },
    )
    expect(seen).toEqual(['1 step 1', '2 slow', '3 step 2'])
    expect(result).toMatchObject({ structuredContent: { status: 'completed', sessionId: expect.any(String) } })
    await client.close()
  })

  // A request of 2025 belongs to no session, so the server cannot tell which call a client cancels.
  test.runIf(name === 'of 2026')('that cancels its call stops the run', async () => {
    const stopped = Promise.withResolvers<void>()
    const { client, store } = await clientOf(stopped)
    const cancel = new AbortController()
    const call = client.callTool(
      { name: 'desk', arguments: { input: 'wait for me' } },
      { signal: cancel.signal, onprogress: ({ message }) => void (message === 'slow' && cancel.abort()) },
    )
    await expect(call).rejects.toThrow(/abort/iu)
    await stopped.promise
    const statusOf = async (): Promise<unknown> => {
      for await (const { status } of store.list()) return status
      return undefined
    }
    await expect.poll(statusOf).toBe('idle')
    await client.close()
  })
})
