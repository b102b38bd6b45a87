import { createAgent } from '@provost/agent'
import type { SessionInfo, SessionStore } from '@provost/core'
import type { Action } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import { ask, deskOf, executed, serverOf } from '../served.ts'

/** An MCP request of 2026 that calls a tool. */
async function callTool(server: ReturnType<typeof serverOf>, name: string, given: object): Promise<string> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  }
  const headers = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, ...given, _meta: meta } }
  return (await ask(server, '/mcp', { body, headers })).text()
}

async function sessionsOf(store: SessionStore): Promise<readonly SessionInfo[]> {
  const found: SessionInfo[] = []
  for await (const info of store.list()) found.push(info)
  return found
}

const userMessage = (text: string) => ({ id: text, role: 'user', parts: [{ type: 'text', text }] })
/** Forbids kinds of actions from now on. */
function forbidding() {
  const forbidden = new Set<Action['kind']>()
  return { forbidden, authorize: (_: unknown, { kind }: Action): boolean => !forbidden.has(kind) }
}

describe('authorize', () => {
  test('is asked whether a page may send to a chat that exists', async () => {
    const { forbidden, authorize } = forbidding()
    const server = serverOf([{ text: 'one' }, { text: 'two' }], { authorize })
    const say = (text: string): Promise<Response> =>
      ask(server, '/api/chat', { body: { id: 'c', messages: [userMessage(text)] } })
    expect(await (await say('a')).text()).toContain('one')
    forbidden.add('send')
    expect((await say('b')).status).toBe(403)
  })

  test('is asked whether a client of MCP may read the session that it names as its state', async () => {
    const { forbidden, authorize } = forbidding()
    const server = serverOf([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }], {
      authorize,
      approvals: { by: 'requester', peers: true },
    })
    const { id } = await executed(server, { input: 'Refund 80.' })
    const state = { arguments: { input: 'x' }, requestState: id }
    expect(await callTool(server, 'desk', state)).toContain('waits for a human')
    forbidden.add('read')
    expect(await callTool(server, 'desk', state)).toContain('not permitted')
  })

  test('is asked before a response that is continued in the middle of its session is copied', async () => {
    const { forbidden, authorize } = forbidding()
    const store = memoryStore()
    const server = serverOf([{ text: 'one' }, { text: 'two' }], { authorize, store })
    const respond = async (body: object): Promise<{ readonly status: number; readonly id: string }> => {
      const response = await ask(server, '/v1/responses', { body: { model: 'desk', ...body } })
      return { status: response.status, id: (await response.json()).id }
    }
    const first = await respond({ input: 'a' })
    await respond({ input: 'b', previous_response_id: first.id })
    forbidden.add('send')
    expect((await respond({ input: 'c', previous_response_id: first.id })).status).toBe(403)
    expect(await sessionsOf(store)).toHaveLength(1)
  })
})

test('a tool of MCP continues sessions of its own agent alone', async () => {
  const store = memoryStore()
  const other = createAgent({ name: 'other', model: scriptedModel([{ text: 'the other' }]), store })
  const server = serverOf([], { agents: [deskOf([], store), other], store })
  const { id } = await executed(server, { agent: 'other', input: 'hi' })
  const said = await callTool(server, 'desk', { arguments: { input: 'go on', sessionId: id } })
  expect(said).toContain('belongs to another agent')
})

test('a compaction that is rejected leaves no session', async () => {
  const store = memoryStore()
  const server = serverOf([], { store })
  const compact = (): Promise<Response> =>
    ask(server, '/v1/responses/compact', { body: { model: 'desk', input: 'a long history' } })
  expect([(await compact()).status, await sessionsOf(store)]).toEqual([409, []])
})

test('the compactions of a principal count as its runs', async () => {
  const server = serverOf([], { limits: { runs: 0 } })
  const response = await ask(server, '/v1/responses/compact', { body: { model: 'desk', input: 'a long history' } })
  expect(response.status).toBe(429)
})

test('a file of a chat whose media type is no header is sent as bytes', async () => {
  const server = serverOf([{ text: 'ok' }])
  const url = `data:text/plain;base64,${Buffer.from('x'.repeat(100_000)).toString('base64')}`
  const parts = [{ type: 'file', mediaType: 'text/\nplain', url }]
  await (await ask(server, '/api/chat', { body: { id: 'c', messages: [{ id: 'm', role: 'user', parts }] } })).text()
  const [message] = await (await ask(server, '/api/chat/c')).json()
  const file = await ask(server, message.parts[0].url)
  expect([file.status, file.headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
})
