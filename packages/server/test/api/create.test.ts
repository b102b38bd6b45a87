import { createAgent } from '@provost/agent'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { describe, expect, it } from 'vitest'

import { ask, deskOf, executed, serverOf } from '../served.ts'

describe('PUT /api/agent/session/:id', () => {
  const put = (server: Parameters<typeof ask>[0], id: string, body: unknown = {}, as = 'ann'): Promise<Response> =>
    ask(server, `/api/agent/session/${id}`, { method: 'PUT', body, as })

  it('creates a session under the id, with a history, and runs continue it', async () => {
    const server = serverOf([{ text: 'Two.' }])
    const messages = [
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: 'One.' },
    ]
    const made = await put(server, 'order-17.a_B', { agent: 'desk', messages })
    expect([made.status, await made.json()]).toEqual([200, { sessionId: 'order-17.a_B', agent: 'desk', created: true }])
    const { last } = await executed(server, { sessionId: 'order-17.a_B', input: 'Two?' })
    expect(last).toMatchObject({ sessionId: 'order-17.a_B', status: 'completed', text: 'Two.' })
    const view = await (await ask(server, '/api/agent/session/order-17.a_B')).json()
    expect(view.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })

  it('has no effect for a session of the same principal and agent, in this process and in another', async () => {
    const store = memoryStore()
    const server = serverOf([{ text: 'Hi.' }], { store })
    await put(server, 'order-17', { agent: 'desk' })
    await executed(server, { sessionId: 'order-17', input: 'Hi' })
    for (const one of [server, serverOf([], { store })]) {
      for (const body of [{}, { agent: 'desk' }, { messages: [{ role: 'user', content: 'x' }] }]) {
        const again = await put(one, 'order-17', body)
        expect([again.status, await again.json()]).toEqual([
          200,
          { sessionId: 'order-17', agent: 'desk', created: false },
        ])
      }
    }
    const view = await (await ask(server, '/api/agent/session/order-17')).json()
    expect(view.messages).toHaveLength(2)
  })

  it('leaves an active run to its readers', async () => {
    const server = serverOf([{ text: ['a', 'b', 'c'], delayMs: 20 }])
    await put(server, 'order-17')
    const run = executed(server, { sessionId: 'order-17', input: 'Hi' })
    for (let n = 0; n < 3; n++) expect((await put(server, 'order-17')).status).toBe(200)
    expect((await run).last).toMatchObject({ status: 'completed', text: 'abc' })
    expect((await executed(server, { sessionId: 'order-17', input: 'x' })).last.status).toBe('failed')
  })

  it('creates one session for concurrent requests', async () => {
    const server = serverOf([])
    const answers = await Promise.all(Array.from({ length: 5 }, async () => (await put(server, 'order-17')).json()))
    expect(answers.filter(({ created }) => created === true)).toHaveLength(1)
    expect(new Set(answers.map(({ sessionId }) => sessionId))).toEqual(new Set(['order-17']))
  })

  it('rejects an id of another principal or agent with one and the same answer', async () => {
    const store = memoryStore()
    const other = createAgent({ name: 'other', model: scriptedModel([]), store })
    const server = serverOf([], { store, agents: [deskOf([], store), other] })
    await put(server, 'order-17', { agent: 'desk' })
    await other.createSession({ id: 'by-code-1' })
    const answers = [
      await put(server, 'order-17', {}, 'bob'),
      await put(server, 'order-17', { agent: 'other' }),
      await put(server, 'by-code-1'),
    ]
    const texts = await Promise.all(answers.map(async (one) => `${one.status} ${await one.text()}`))
    expect(texts[0]).toMatch(/^409 .*"session-exists"/u)
    expect(new Set(texts).size).toBe(1)
    expect(texts[0]).not.toMatch(/ann|desk|order/u)
  })

  it.for([
    'short',
    'a:b-long-enough',
    '..%2F..%2Fetc',
    'a b c d e f',
    '-leading-hyphen',
    'x'.repeat(129),
    'a=1.2%0Aid',
  ])('rejects the id %s', async (id) => {
    const response = await put(serverOf([]), encodeURIComponent(decodeURIComponent(id)))
    expect([response.status, (await response.json()).error.code]).toEqual([400, 'invalid-session-id'])
  })

  it('leaves the ids of chats and threads to their principals', async () => {
    const server = serverOf([{ text: 'Hi.' }, { text: 'Hi.' }])
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }
    const thread = { threadId: 't', runId: 'r', tools: [], context: [], forwardedProps: {}, state: {} }
    const starts = [
      (as: string) => ask(server, '/api/chat', { body: { id: 'main', messages: [message] }, as }),
      (as: string) =>
        ask(server, '/ag-ui/desk', { body: { ...thread, messages: [{ id: 'm', role: 'user', content: 'Hi' }] }, as }),
    ]
    for (const start of starts) {
      // The id of a conversation does not change when its session is deleted.
      const id = (await start('ann')).headers.get('x-session-id') ?? ''
      await ask(server, `/api/agent/session/${id}`, { method: 'DELETE' })
      const taken = await put(server, id, {}, 'bob')
      expect([taken.status, (await taken.json()).error.code]).toEqual([400, 'invalid-session-id'])
    }
  })

  it('needs the permission to start runs', async () => {
    const store = memoryStore()
    const authorize = (_: unknown, { kind }: { kind: string }): boolean => kind !== 'run'
    const server = createServer({
      agents: [deskOf([], store)],
      store,
      authenticate: () => ({ id: 'ann' }),
      approvals: { by: 'requester' },
      authorize,
    })
    expect((await put(server, 'order-17')).status).toBe(403)
  })
})
