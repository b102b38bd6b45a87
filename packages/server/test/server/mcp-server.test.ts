import { createAgent } from '@provost/agent'
import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { mcpTools } from '@provost/tools'
import { expect, test } from 'vitest'

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
  expect((await ask(server, '/mcp', { body, headers: { origin: 'https://evil.example' } })).status).toBe(403)
})
