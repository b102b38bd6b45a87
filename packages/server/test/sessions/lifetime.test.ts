import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import type { Server } from '@provost/server'
import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'

import { ask, executed, framesIn, serverOf } from '../served.ts'

test('one Idempotency-Key starts one session with one run, in this process and in another', async () => {
  const store = memoryStore()
  const server = serverOf([{ text: 'one' }, { text: 'two' }], { store })
  const keyed = async (at: typeof server, body: object): Promise<{ id: string | null; text: string }> => {
    const response = await ask(at, '/api/agent/execute', { body, headers: { 'idempotency-key': 'k' } })
    const last = framesIn(await response.text()).at(-1)?.data
    return { id: response.headers.get('x-session-id'), text: last && 'text' in last ? (last.text ?? '') : '' }
  }
  const first = await keyed(server, { input: 'x' })
  expect(first.text).toBe('one')
  expect(await keyed(server, { input: 'x' })).toEqual(first)
  expect(await keyed(serverOf([{ text: 'other' }], { store }), { input: 'x' })).toEqual(first)
  const next = await keyed(server, { sessionId: first.id, input: 'y' })
  expect(next.text).toBe('two')
  expect(await keyed(server, { sessionId: first.id, input: 'y' })).toEqual(next)
  expect(await keyed(serverOf([{ text: 'other' }], { store }), { sessionId: first.id, input: 'y' })).toEqual(next)
})

test('a steer with an Idempotency-Key is delivered once, whichever process receives the repeated request', async () => {
  const store = memoryStore()
  const steps = [{ text: 'one' }, { text: 'two' }, { text: 'three' }, { text: 'four' }]
  const server = serverOf(steps, { store })
  const { id } = await executed(server, { input: 'x' })
  const path = `/api/agent/session/${id}/follow-up`
  const send = async (to: typeof server): Promise<number> =>
    (await ask(to, path, { body: { input: 'more' }, headers: { 'idempotency-key': 'k' } })).status
  expect(await send(server)).toBe(202)
  let stored = 0
  for await (const { token } of store.inbox(id)) if (token.startsWith('send/')) stored++
  expect(stored, 'in the store by the time it was accepted').toBe(1)
  await (await ask(server, `/api/agent/session/${id}/events`)).text()
  expect([await send(server), await send(serverOf([], { store }))]).toEqual([202, 202])
  await (await ask(server, `/api/agent/session/${id}/events`)).text()
  const { messages } = await (await ask(server, `/api/agent/session/${id}`)).json()
  expect(messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
})

test('steer enters an active run, and a follow-up starts a turn when the run would end', async () => {
  const gate = Promise.withResolvers<void>()
  const wait = tool({
    name: 'wait',
    effect: 'read',
    input: z.object({}),
    execute: async () => (await gate.promise, 'waited'),
  })
  const store = memoryStore()
  const steps = [{ toolCalls: [{ name: 'wait', input: {} }] }, { text: 'steered' }, { text: 'followed' }]
  const agent = createAgent({ name: 'desk', model: scriptedModel(steps), tools: [wait], store })
  const server = createServer({ agents: [agent], store })
  const running = ask(server, '/api/agent/execute', { body: { input: 'x' } })
  const response = await running
  const id = response.headers.get('x-session-id')
  expect((await ask(server, `/api/agent/session/${id}/steer`, { body: { input: 'hurry' } })).status).toBe(202)
  expect((await ask(server, `/api/agent/session/${id}/follow-up`, { body: { input: 'and then' } })).status).toBe(202)
  gate.resolve()
  const types = framesIn(await response.text()).map(({ data }) => data.type)
  expect(types).toContain('agent.steered')
  expect(types.filter((type) => type === 'turn.start')).toHaveLength(3)
  expect(types.at(-1)).toBe('execute_complete')
})

test('follow-ups are answered one a turn, in their order', async () => {
  const gate = Promise.withResolvers<void>()
  const wait = tool({ name: 'wait', input: z.object({}), execute: async () => (await gate.promise, 'waited') })
  const store = memoryStore()
  const steps = [
    { toolCalls: [{ name: 'wait', input: {} }] },
    ...['go', 'one', 'two', 'three'].map((text) => ({ text })),
  ]
  const agent = createAgent({ name: 'desk', model: scriptedModel(steps), tools: [wait], store })
  const server = createServer({ agents: [agent], store })
  const response = await ask(server, '/api/agent/execute', { body: { input: 'x' } })
  const id = response.headers.get('x-session-id')
  for (const input of ['1', '2', '3'])
    expect((await ask(server, `/api/agent/session/${id}/follow-up`, { body: { input } })).status).toBe(202)
  gate.resolve()
  const events = framesIn(await response.text()).map(({ data }) => data)
  const turns = events.flatMap((event) =>
    event.type === 'turn.start' ? [event.trigger] : event.type === 'turn.end' ? [event.text] : [],
  )
  expect(turns).toEqual(['input', 'go', 'queue', 'one', 'queue', 'two', 'queue', 'three'])
  const queued = events.flatMap((event) => (event.type === 'agent.followup.queued' ? [event.text] : []))
  expect(queued).toEqual(['1', '2', '3'])
})

test('`to` delivers a message from any process to one child run only', async () => {
  const gate = Promise.withResolvers<void>()
  const wait = tool({
    name: 'wait',
    effect: 'read',
    input: z.object({}),
    execute: async () => (await gate.promise, 'waited'),
  })
  const store = memoryStore()
  const echo = scriptedModel(
    [
      ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? { text: JSON.stringify(messages.filter(({ role }) => role === 'user').map(({ content }) => content)) }
          : { toolCalls: [{ name: 'wait', input: {} }] },
    ],
    { after: 'repeat-last' },
  )
  const worker = createAgent({ name: 'worker', model: echo, tools: [wait] })
  const steps = [{ toolCalls: [{ name: 'work', input: { task: 'look' } }] }, { text: 'done' }]
  const desk = (): ReturnType<typeof createAgent> =>
    createAgent({
      name: 'desk',
      model: scriptedModel(steps),
      tools: [worker.toTool({ name: 'work', description: 'Works.' })],
      store,
    })
  const server = createServer({ agents: [desk()], store })
  const elsewhere = createServer({ agents: [desk()], store })
  const response = await ask(server, '/api/agent/execute', { body: { input: 'x' } })
  const id = response.headers.get('x-session-id')
  const path = `/api/agent/session/${id}`
  const to = await vi.waitFor(async () => {
    for await (const entry of store.read(id ?? '')) if (entry.type === 'child') return entry.callId
    throw new Error('no child yet')
  }, 60_000)
  const says = async (through: Server, route: string, body: unknown, key = route): Promise<number> =>
    (await ask(through, `${path}/${route}`, { body, headers: { 'idempotency-key': key } })).status
  expect(await says(server, 'steer', { input: 'hurry', to })).toBe(202)
  expect(await says(elsewhere, 'follow-up', { input: 'and then', to })).toBe(202)
  expect(await says(elsewhere, 'follow-up', { input: 'and then', to }), 'the same key').toBe(202)
  for (const wrong of [`${to}/1/call/0`, 'unknown', '../..', id ?? '']) {
    const refused = await ask(server, `${path}/steer`, { body: { input: 'x', to: wrong } })
    expect([refused.status, (await refused.json()).error.code]).toEqual([404, 'unknown-run'])
  }
  for (const wrong of ['', 7, 'x'.repeat(1_001)])
    expect(await says(server, 'steer', { input: 'x', to: wrong })).toBe(400)
  gate.resolve()
  const frames = framesIn(await response.text())
  const told = frames.flatMap(({ data }) => (data.type === 'agent.steered' ? [[data.agent, data.text]] : []))
  expect(told).toEqual([['worker', 'hurry']])
  const last = frames.findLast(({ data }) => data.type === 'agent.end' && data.agent === 'worker')
  expect(last?.data).toMatchObject({ text: expect.stringMatching(/hurry.*and then/u) })
  await elsewhere.close()
  await server.close()
})

test('abort ends a run and its stream as aborted; delete removes the session', async () => {
  const server = serverOf([{ stall: true }])
  const response = await ask(server, '/api/agent/execute', { body: { input: 'x' } })
  const id = response.headers.get('x-session-id')
  expect((await ask(server, `/api/agent/session/${id}/abort`, { body: {} })).status).toBe(202)
  expect(framesIn(await response.text()).at(-1)?.data).toMatchObject({ type: 'execute_complete', status: 'aborted' })
  expect((await ask(server, `/api/agent/session/${id}`, { method: 'DELETE' })).status).toBe(204)
  expect((await ask(server, `/api/agent/session/${id}`)).status).toBe(404)
})

test('a closing server leaves its runs for the next server to resume', async () => {
  const store = memoryStore()
  const ran: string[] = []
  const gate = Promise.withResolvers<void>()
  const work = tool({
    name: 'work',
    effect: 'write',
    input: z.object({ n: z.number() }),
    executionMode: 'sequential',
    async execute({ n }) {
      ran.push(`work ${n}`)
      if (n === 1) await gate.promise
      return `worked ${n}`
    },
  })
  const steps = [
    {
      toolCalls: [
        { name: 'work', input: { n: 1 } },
        { name: 'work', input: { n: 2 } },
      ],
    },
    { text: 'done' },
  ]
  const serverWith = (from: typeof steps | readonly { text: string }[]): ReturnType<typeof createServer> =>
    createServer({
      agents: [createAgent({ name: 'desk', model: scriptedModel([...from]), tools: [work], store })],
      store,
      pollMs: 10,
    })
  const before = serverWith(steps)
  const response = await ask(before, '/api/agent/execute', { body: { input: 'x' } })
  const id = response.headers.get('x-session-id')
  await expect.poll(() => ran).toEqual(['work 1'])
  const closing = before.close({ graceMs: 20_000 })
  expect((await ask(before, '/ready')).status).toBe(503)
  gate.resolve()
  await closing
  const seen = framesIn(await response.text())
  expect(seen.map(({ data }) => data.type)).not.toContain('execute_complete')
  expect(ran).toEqual(['work 1'])
  const after = serverWith([{ text: 'done' }])
  const rest = await ask(after, `/api/agent/session/${id}/events`, {
    headers: { 'last-event-id': seen.at(-1)?.id ?? '' },
  })
  expect(framesIn(await rest.text()).at(-1)?.data).toMatchObject({
    type: 'execute_complete',
    status: 'completed',
    text: 'done',
  })
  expect(ran).toEqual(['work 1', 'work 2'])
  await after.close()
})

test('a server looks for due sessions once at a time, however slow the store is', async () => {
  const store = memoryStore()
  const gate = Promise.withResolvers<void>()
  let looks = 0
  const slow: SessionStore = {
    ...store,
    async claimDue() {
      looks++
      await gate.promise
      return []
    },
  }
  const server = serverOf([], { store: slow, pollMs: 1 })
  await expect.poll(() => looks).toBe(1)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(looks).toBe(1)
  gate.resolve()
  await expect.poll(() => looks).toBeGreaterThan(1)
  await server.close()
})

test('all /ready requests of a second query the store once', async () => {
  const store = memoryStore()
  const gate = Promise.withResolvers<void>()
  let looks = 0
  const slow: SessionStore = {
    ...store,
    async *list(filter) {
      if (filter?.limit === 1) {
        looks++
        await gate.promise
      }
      yield* store.list(filter)
    },
  }
  const server = serverOf([], { store: slow, pollMs: 60_000 })
  const asked = Array.from({ length: 50 }, () => ask(server, '/ready', { as: '!' }))
  await expect.poll(() => looks).toBe(1)
  gate.resolve()
  expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]))
  expect(looks).toBe(1)
  const ready = await ask(server, '/ready')
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { status: 'ready', store: 'reachable', engine: 'none', running: 0, room: 64 },
  ])
  expect(looks).toBe(1)
  await server.close()
})

test('/ready is 503 when the store does not answer within a second, and /health does not ask it', async () => {
  const store = memoryStore()
  const silent: SessionStore = {
    ...store,
    async *list() {
      await new Promise(() => {})
      yield* store.list()
    },
    claimDue: async () => new Promise(() => {}),
  }
  const server = serverOf([], { store: silent })
  onTestFinished(() => server.close({ graceMs: 0 }))
  expect((await ask(server, '/health')).status).toBe(200)
  const ready = await ask(server, '/ready')
  expect([ready.status, ready.headers.get('retry-after'), await ready.json()]).toEqual([
    503,
    '1',
    { status: 'not-ready', store: 'unreachable', engine: 'none', running: 0, room: 0 },
  ])
  const failing: SessionStore = {
    ...store,
    async *list() {
      yield* store.list()
      throw new Error('away')
    },
  }
  expect((await ask(serverOf([], { store: failing }), '/ready')).status).toBe(503)
})

test('an idle connection is kept for 65 s by default, or for keepAliveMs', async () => {
  const kept = async (options: { keepAliveMs?: number }): Promise<string | null> => {
    const listening = await serve(serverOf([]), { port: 0, ...options })
    const { headers } = await fetch(`${listening.url}/health`)
    await listening.close()
    return headers.get('keep-alive')
  }
  expect(await kept({})).toBe('timeout=65')
  expect(await kept({ keepAliveMs: 620_000 })).toBe('timeout=620')
})
