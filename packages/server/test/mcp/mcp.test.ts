import type { ClientOptions } from '@modelcontextprotocol/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createAgent } from '@provost/agent'
import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { mcpTools, tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { ask, deskOf, refund, serverOf } from '../served.ts'

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

describe('an MCP client that shows forms to its user', () => {
  interface Answer {
    readonly action: 'accept' | 'decline' | 'cancel'
    readonly content?: Record<string, string | boolean>
  }
  const asks = { toolCalls: [{ name: 'refund', input: { amount: 80 } }] }

  async function clientOf(answers: readonly Answer[], options: Parameters<typeof serverOf>[1] = {}) {
    const approvals = { by: 'requester', peers: true } as const
    const store = memoryStore()
    const model = scriptedModel([asks, ({ messages }) => ({ text: JSON.stringify(messages.at(-1)) })])
    const agents = [createAgent({ name: 'desk', model, tools: [refund], store })]
    const server = serverOf([], { agents, store, approvals, ...options })
    const asked: string[] = []
    const left = [...answers]
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message)
      return { ...(left.shift() ?? { action: 'cancel' }) }
    })
    const headers = { authorization: 'Bearer ann' }
    const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> =>
      server.fetch(new Request(url, init))
    const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
      fetch,
      requestInit: { headers },
    })
    await client.connect(transport)
    const call = () => client.callTool({ name: 'desk', arguments: { input: 'Refund 80.' } })
    return { call, asked, server, client }
  }

  test('asks about a call, and the run goes on when the user approves', async () => {
    const { call, asked } = await clientOf([{ action: 'accept', content: { approve: true } }])
    const result = await call()
    expect(asked).toEqual([expect.stringContaining('May desk call refund with {"amount":80}?')])
    expect(result).toMatchObject({ structuredContent: { status: 'completed' } })
    expect(JSON.stringify(result.content)).toContain('refunded 80')
  })

  test.each<[string, Answer, string]>([
    ['declines', { action: 'decline' }, 'denied'],
    ['answers no, with a reason', { action: 'accept', content: { approve: false, reason: 'too much' } }, 'too much'],
    ['answers something else', { action: 'accept', content: { approve: 'yes' } }, 'denied'],
  ])('does not make the call when the user %s', async (_, answer, told) => {
    const { call } = await clientOf([answer])
    const said = JSON.stringify((await call()).content)
    expect(said).not.toContain('refunded 80')
    expect(said.toLowerCase()).toContain(told)
  })

  test('leaves the question to others when the user dismisses it', async () => {
    const { call, server } = await clientOf([{ action: 'cancel' }])
    const result = await call()
    expect(result).toMatchObject({ structuredContent: { status: 'suspended' } })
    const { sessionId } = z.object({ sessionId: z.string() }).parse(result.structuredContent)
    const { pending } = await (await ask(server, `/api/agent/session/${sessionId}`)).json()
    expect(pending.approvals).toHaveLength(1)
  })

  test('is not asked by a server that takes no approvals of peers', async () => {
    const { call, asked } = await clientOf([], { approvals: { by: 'requester' } })
    expect(await call()).toMatchObject({ structuredContent: { status: 'suspended' } })
    expect(asked).toEqual([])
  })

  test('cannot name a session of another principal as its state', async () => {
    const { server } = await clientOf([])
    const other = await ask(server, '/api/agent/execute', { body: { input: 'Refund 80.' }, as: 'bob' })
    await other.text()
    const id = other.headers.get('x-session-id')
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    }
    const { pending } = await (await ask(server, `/api/agent/session/${id}`, { as: 'bob' })).json()
    const inputResponses = { [pending.approvals[0].id]: { action: 'accept', content: { approve: true } } }
    const params = { name: 'desk', arguments: { input: 'x' }, requestState: id, inputResponses, _meta: meta }
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'desk',
    }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const said = await (await ask(server, '/mcp', { body, headers })).text()
    expect(said).toContain('isError')
    const still = await (await ask(server, `/api/agent/session/${id}`, { as: 'bob' })).json()
    expect(still.pending.approvals).toHaveLength(1)
  })
})
