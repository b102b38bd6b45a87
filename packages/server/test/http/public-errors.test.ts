import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { defineExtension, ProvostError } from '@provost/core'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { ask, executed } from '../served.ts'

const secret = 'connect ECONNREFUSED db.internal:5432 as app_rw'

const raw = tool({
  name: 'raw',
  effect: 'read',
  input: z.object({}),
  execute: () => {
    throw new Error(secret)
  },
})
const coded = tool({
  name: 'coded',
  effect: 'read',
  input: z.object({}),
  execute: () => {
    throw new ProvostError('quota-used', secret, { hint: secret })
  },
})
const slow = tool({ name: 'strict', effect: 'read', input: z.object({ n: z.number() }), execute: () => 'x' })
const watcher = defineExtension({
  name: 'watcher',
  observer: true,
  hooks: {
    event({ type }) {
      if (type === 'step.start') throw new Error(secret)
    },
  },
})

function world(exposeErrors?: boolean): {
  server: ReturnType<typeof createServer>
  store: SessionStore
  seen: string[]
} {
  const store = memoryStore()
  const seen: string[] = []
  const childModel = scriptedModel([{ toolCalls: [{ name: 'raw', input: {} }] }, { text: 'child done' }])
  const child = createAgent({ name: 'child', model: childModel, tools: [raw], store })
  const model = scriptedModel(
    [
      {
        toolCalls: [
          { name: 'raw', input: {} },
          { name: 'coded', input: {} },
          { name: 'strict', input: { n: 'no' } },
          { name: 'ask_child', input: { task: 'go' } },
        ],
      },
      ({ messages }) => (seen.push(JSON.stringify(messages)), { text: 'done' }),
    ],
    { after: 'repeat-last' },
  )
  const asked = child.toTool({ name: 'ask_child', description: 'Asks the child.' })
  const agent = createAgent({ name: 'desk', model, tools: [raw, coded, slow, asked], extensions: [watcher], store })
  const server = createServer({ agents: [agent], store, ...(exposeErrors !== undefined && { exposeErrors }) })
  return { server, store, seen }
}

/** Everything that a browser can read of a session, live and later, from this process and another one. */
async function faces({ server, store }: ReturnType<typeof world>): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const live = await executed(server, { input: 'go' })
  found.set('events', JSON.stringify(live.frames))
  const idle = createAgent({ name: 'desk', model: scriptedModel([]), tools: [raw, coded, slow], store })
  const other = createServer({ agents: [idle], store })
  for (const [name, to] of [
    ['here', server],
    ['elsewhere', other],
  ] as const) {
    for (const path of ['', '/events', '/export']) {
      found.set(`${name}${path}`, await (await ask(to, `/api/agent/session/${live.id}${path}`)).text())
    }
  }
  const parts = [{ type: 'text', text: 'go' }]
  const messages = [{ role: 'user', parts }]
  found.set('chat', await (await ask(world().server, '/api/chat', { body: { id: 'c', messages } })).text())
  return found
}

describe('the message of an exception in a tool or a hook', () => {
  test('reaches the model and no client; clients receive the code and a general message', async () => {
    const made = world()
    const found = [...(await faces(made))]
    expect(found.filter(([, text]) => text.length < 100 || text.includes('ECONNREFUSED'))).toEqual([])
    expect(found.filter(([, text]) => !text.includes('The tool failed.'))).toEqual([])
    expect(made.seen.join('')).toContain(secret)
    const events = (await faces(world())).get('events') ?? ''
    expect(events).toMatch(/"code":"tool-failed","message":"The tool failed."/u)
    expect(events).toMatch(/"code":"quota-used","message":"The tool failed."/u)
    // Errors of the runtime itself keep their text.
    expect(events).toContain('"code":"invalid-tool-input"')
    expect(events).toMatch(/"n"|expected number/u)
  })

  test('reaches clients with exposeErrors', async () => {
    const { server } = world(true)
    const { id, frames } = await executed(server, { input: 'go' })
    expect(JSON.stringify(frames)).toContain(secret)
    for (const path of ['', '/events', '/export']) {
      expect(await (await ask(server, `/api/agent/session/${id}${path}`)).text()).toContain(secret)
    }
  })

  test('reaches no peer over A2A and MCP if the run fails with it', async () => {
    const store = memoryStore()
    const failing = defineExtension({
      name: 'failing',
      hooks: {
        'model.request'() {
          throw new Error(secret)
        },
      },
    })
    const agent = createAgent({ name: 'desk', model: scriptedModel([]), extensions: [failing], store })
    const server = createServer({ agents: [agent], store })
    const a2a = await ask(server, '/a2a/desk', {
      headers: { 'a2a-version': '1.0' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } },
      },
    })
    const said = await a2a.text()
    expect(said).toContain('hook-failed')
    expect(said).not.toContain('ECONNREFUSED')
    const mcp = await ask(server, '/mcp', {
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'desk', arguments: { input: 'go' } } },
    })
    const answered = await mcp.text()
    expect(answered).toContain('hook-failed')
    expect(answered).not.toContain('ECONNREFUSED')
    const { last } = await executed(server, { input: 'go' })
    expect(last.error).toEqual({ code: 'hook-failed', message: 'The run failed.' })
  })
})
