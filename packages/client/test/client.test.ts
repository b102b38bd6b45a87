import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent } from '@provost/agent'
import type { ClientOptions, ClientTool, ServerError } from '@provost/client'
import { createClient } from '@provost/client'
import type { AgentEvent, SessionStore } from '@provost/core'
import { createServer } from '@provost/server'
import { memoryStore, sqliteStore } from '@provost/sessions'
import type { ScriptedStep } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

const refund = tool({
  name: 'refund',
  needsApproval: true,
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${amount}`,
})

type Fetch = NonNullable<ClientOptions['fetch']>

/** A client of a server in this process. `through` can change its responses. */
function clientOf(
  steps: readonly ScriptedStep[],
  {
    store = memoryStore(),
    through = (fetch: Fetch) => fetch,
  }: { store?: SessionStore; through?: (fetch: Fetch) => Fetch } = {},
): ReturnType<typeof createClient> {
  const agent = createAgent({ name: 'desk', model: scriptedModel([...steps]), tools: [refund], store })
  const server = createServer({ agents: [agent], store })
  return createClient({
    baseUrl: 'http://localhost',
    fetch: through(async (url, init) => server.fetch(new Request(url, init))),
  })
}

async function all(stream: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

test('a run over HTTP is an async iterable with a result', async () => {
  const session = clientOf([{ text: ['Hel', 'lo'] }]).session()
  const stream = session.execute('Hi')
  const events = await all(stream)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  expect(events.at(0)?.type).toBe('agent.start')
  expect(events.at(-1)?.type).toBe('agent.end')
  const result = await stream.result
  expect(result).toMatchObject({ status: 'completed', text: 'Hello', sessionId: session.id })
  expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect((await session.get()).status).toBe('idle')
})

test('the result needs no iteration, and rejected requests are typed errors', async () => {
  const client = clientOf([{ text: 'x' }])
  expect((await client.session().execute('Hi').result).text).toBe('x')
  await expect(client.session('nope').execute('Hi').result).rejects.toMatchObject({
    name: 'ServerError',
    code: 'unknown-session',
    status: 404,
  })
  await expect(client.session({ agent: 'unknown' }).execute('Hi').result).rejects.toMatchObject({
    code: 'unknown-agent',
  })
})

test('client tools run locally, and the model receives what they throw', async () => {
  const asked: unknown[] = []
  const clock: ClientTool = {
    name: 'clock',
    description: 'tells the time',
    input: z.object({ zone: z.string() }),
    execute: ({ zone }: { zone: string }) => {
      asked.push(zone)
      if (zone === 'mars') throw new Error('no such zone')
      return { time: '12:00' }
    },
  }
  const steps = [
    { toolCalls: [{ name: 'clock', input: { zone: 'utc' } }] },
    {
      toolCalls: [
        { name: 'clock', input: { zone: 'mars' } },
        { name: 'clock', input: { zone: 7 } },
      ],
    },
    { text: 'noon' },
  ]
  const stream = clientOf(steps)
    .session({ tools: [clock] })
    .execute('time?')
  const events = await all(stream)
  expect(asked).toEqual(['utc', 'mars'])
  const outputs = events.flatMap((event) => {
    if (event.type === 'tool.execute.error') return [event.error.code]
    return event.type === 'tool.execute.end' && event.output.type === 'json' ? [event.output.value] : []
  })
  // A call that failed is an error, as one of a tool on the server.
  expect(outputs).toEqual([{ time: '12:00' }, 'invalid-tool-input', 'tool-error'])
  expect(events.filter(({ type }) => type === 'agent.end' || type === 'agent.suspended')).toHaveLength(1)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  expect((await stream.result).text).toBe('noon')
})

test('onApproval decides locally, or the approval stays pending', async () => {
  const steps = [{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'done' }]
  const approved = await clientOf(steps)
    .session()
    .execute('x', { onApproval: ({ input }) => (input ? 'approve' : 'deny') }).result
  expect(approved).toMatchObject({ status: 'completed', text: 'done' })
  const session = clientOf(steps).session()
  const pending = session.execute('x')
  expect((await all(pending)).slice(-2).map(({ type }) => type)).toEqual(['agent.suspended', 'agent.end'])
  const { status, pending: waits, lastEventId } = await pending.result
  expect(status).toBe('suspended')
  await session.resolve({ approvals: [{ id: waits.approvals[0]?.id ?? '', decision: 'approve' }] })
  const rest = session.follow({ lastEventId })
  expect((await rest.result).text).toBe('done')
})

/** Cuts the stream of each response except the last after the given number of bytes. */
function cutting(cuts: number[]): (fetch: Fetch) => Fetch {
  return (fetch) => async (url, init) => {
    const response = await fetch(url, init)
    const bytes = cuts.shift()
    if (bytes === undefined || !response.body) return response
    let left = bytes
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk.subarray(0, left))
        left -= chunk.length
        if (left <= 0) controller.error(new TypeError('terminated'))
      },
    })
    return new Response(response.body.pipeThrough(cut), response)
  }
}

test('a client reconnects wherever the connection is cut, without lost or repeated events', async () => {
  const steps = [
    { text: ['I ', 'look'], toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
    { text: ['a', 'l', 'l', ' done'] },
  ]
  const kinds = (events: readonly AgentEvent[]): readonly string[] =>
    events.flatMap(({ type }) => (type.endsWith('.delta') ? [] : [type]))
  const text = (events: readonly AgentEvent[]): string =>
    events.map((event) => (event.type === 'text.delta' ? event.delta : '')).join('')
  const onApproval = (): 'approve' => 'approve'
  const whole = await all(clientOf(steps).session().execute('x', { onApproval }))
  const cuts = process.env['PROVOST_TEST_FULL'] === '1' ? [1, 60, 500, 1_500, 3_000, 4_500, 6_000] : [60, 1_500, 4_500]
  for (const cut of cuts) {
    const stream = clientOf(steps, { through: cutting([cut, 700, cut]) })
      .session()
      .execute('x', { onApproval })
    const events = await all(stream)
    expect({ cut, kinds: kinds(events) }).toEqual({ cut, kinds: kinds(whole) })
    expect({ cut, text: text(events) }).toEqual({ cut, text: text(whole) })
    expect(events.filter(({ type, id }) => type.endsWith('.delta') && !id.includes('~'))).toEqual([])
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  }
})

test('a client receives the end of a text that the server no longer has in parts', async () => {
  const words = Array.from({ length: 300 }, (_, n) => `word ${n} `)
  const session = clientOf([{ text: words }], { through: cutting([4_000]) }).session()
  const events = await all(session.execute('x'))
  const kinds = events.flatMap(({ type }) => (type.startsWith('text.') || type === 'message.end' ? [type] : []))
  expect(kinds.filter((type, index) => type !== kinds[index - 1])).toEqual([
    'message.end',
    'text.start',
    'text.delta',
    'text.end',
    'message.end',
  ])
  expect(events.flatMap((event) => (event.type === 'text.delta' ? [event.delta] : [])).join('')).toBe(words.join(''))
  expect(events.find(({ type }) => type === 'text.end')).toMatchObject({ text: words.join('') })
})

test('a client can reconnect to another process each time, and the text continues where it was cut', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'provost-client-'))
  const words = Array.from({ length: 30 }, (_, n) => `word ${n} `)
  const stores = [0, 1].map(() => sqliteStore(join(folder, 'sessions.db')))
  const servers = stores.map((store) => {
    const model = scriptedModel([{ text: words, delayMs: 10 }])
    return createServer({ agents: [createAgent({ name: 'desk', model, store })], store, pollMs: 60_000 })
  })
  let requests = 0
  const client = createClient({
    baseUrl: 'http://localhost',
    fetch: cutting([1_500, 2_000, 1_000])(async (url, init) => {
      const server = servers[requests++ % 2]
      return server ? server.fetch(new Request(url, init)) : Response.error()
    }),
  })
  const events = await all(client.session().execute('x'))
  expect(requests).toBeGreaterThan(2)
  expect(events.map((event) => (event.type === 'text.delta' ? event.delta : '')).join('')).toBe(words.join(''))
  const lasting = events.flatMap(({ id, type }) => (id.includes('~') ? [] : [`${type} ${id}`]))
  expect(new Set(lasting).size).toBe(lasting.length)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  expect(events.filter(({ type }) => type === 'message.start')).toHaveLength(2)
  for (const server of servers) await server.close()
  for (const store of stores) await store.close()
  rmSync(folder, { recursive: true, force: true })
})

test('steer sends the run id of a child, and is rejected without an active run', async () => {
  const sent: string[] = []
  const through =
    (fetch: Fetch): Fetch =>
    async (url, init) => {
      if (typeof init?.body === 'string') sent.push(init.body)
      return fetch(url, init)
    }
  const session = clientOf([{ text: 'Hello.' }], { through }).session()
  await session.execute('Hi').result
  for (const say of [session.steer, session.followUp]) {
    await expect(say('hurry', { to: 'x/1/call/0' })).rejects.toMatchObject({ code: 'unknown-run', status: 404 })
  }
  expect(sent.slice(1).map((body): unknown => JSON.parse(body))).toEqual(
    Array.from({ length: 2 }, () => ({ input: 'hurry', to: 'x/1/call/0' })),
  )
})

test('an aborted signal aborts the run on the server', async () => {
  const client = clientOf([{ stall: true }])
  const session = client.session()
  const control = new AbortController()
  const stream = session.execute('x', { signal: control.signal })
  for await (const { type } of stream) if (type === 'step.start') control.abort()
  expect((await stream.result).status).toBe('aborted')
  expect((await session.get()).status).toBe('idle')
})

test('a signal of a reader stops its reading, and the run continues; onAbort chooses the other', async () => {
  const client = clientOf([{ stall: true }])
  const session = client.session()
  const left = new AbortController()
  const starting = session.execute('x', { signal: left.signal, onAbort: 'leave' })
  for await (const { type } of starting) if (type === 'step.start') left.abort(new Error('left'))
  await expect(starting.result).rejects.toThrow('left')
  expect((await session.get()).status).toBe('running')

  const reader = new AbortController()
  const reading = session.follow({ signal: reader.signal })
  const seen: string[] = []
  for await (const { type } of reading) {
    seen.push(type)
    if (type === 'step.start') reader.abort()
  }
  expect(seen).toContain('agent.start')
  await expect(reading.result).rejects.toMatchObject({ name: 'AbortError' })
  await expect(session.follow({ signal: reader.signal }).result).rejects.toMatchObject({ name: 'AbortError' })
  expect((await session.get()).status).toBe('running')

  const ending = session.follow({ signal: AbortSignal.abort(), onAbort: 'abort' })
  expect((await ending.result).status).toBe('aborted')
  expect((await session.get()).status).toBe('idle')
  const wrong = { onAbort: 'stop' } as unknown as { onAbort: 'leave' }
  expect(() => session.follow(wrong)).toThrow(expect.objectContaining({ code: 'invalid-option' }))
})

test('a signal aborts its own run and no later one', async () => {
  const aborts: string[] = []
  const client = clientOf([{ text: 'one' }, { text: 'two' }], {
    through: (fetch) => async (url, init) => {
      if (url.endsWith('/abort')) aborts.push(url)
      return fetch(url, init)
    },
  })
  const session = client.session()
  const abort = new AbortController()
  await session.execute('a', { signal: abort.signal }).result
  const second = session.execute('b')
  abort.abort()
  expect(await second.result).toMatchObject({ status: 'completed', text: 'two' })
  expect(aborts).toEqual([])
})

test('a client stops reconnecting when the connection always breaks at the same place', async () => {
  const context = { run: 1, runId: 'r', agent: 'desk', parents: [], log: 's', at: 1 }
  const event = { run: 1, ms: 0, step: 0, sessionId: 's' }
  const frames = [
    `event: stream.context\ndata: ${JSON.stringify(context)}\n\n`,
    `id: 1.1\nevent: agent.resumed\ndata: ${JSON.stringify(event)}\n\n`,
  ]
  let tries = 0
  const client = createClient({
    baseUrl: 'http://localhost',
    reconnectMs: 1,
    async fetch() {
      if (++tries > 100) return Response.json({ error: { code: 'enough', message: 'Enough.' } }, { status: 400 })
      return new Response(frames.join(''), { headers: { 'x-session-id': 's' } })
    },
  })
  await expect(client.session().execute('Hi').result).rejects.toMatchObject({ code: 'unreachable' })
})

test('an operator reads the pending waits of all sessions page by page, and decides', async () => {
  const call = { toolCalls: [{ name: 'refund', input: { amount: 1 } }] }
  const client = clientOf([call, call, { text: 'done' }, { text: 'done' }])
  const sessions = [client.session(), client.session()]
  for (const session of sessions) await session.execute('x').result
  const ids = sessions.map(({ id = '' }) => id).toSorted()
  const first = await client.waits({ limit: 1 })
  expect(first.waits).toMatchObject([
    { kind: 'approval', sessionId: ids[0], text: expect.stringContaining('refund (write)') },
  ])
  const second = await client.waits({ after: first.next ?? '' })
  expect(second.waits).toMatchObject([{ kind: 'approval', sessionId: ids[1] }])
  for (const { sessionId, kind, wait } of [...first.waits, ...second.waits]) {
    if (kind === 'approval') await client.decide(sessionId, { approvals: [{ id: wait.id, decision: 'approve' }] })
  }
  for (const session of sessions) expect(await session.follow().result).toMatchObject({ status: 'completed' })
  expect((await client.waits()).waits).toEqual([])
})

test('an operator accepts the change of an agent, and the run goes on', async () => {
  const store = memoryStore()
  const model = scriptedModel([{ toolCalls: [{ name: 'refund', input: { amount: 1 } }] }, { text: 'done' }])
  const [first, second] = ['1', '2'].map((version) => {
    const agent = createAgent({ name: 'desk', model, tools: [refund], store, version, whenChanged: 'ask' })
    const server = createServer({ agents: [agent], store, concurrency: 0 })
    return createClient({
      baseUrl: 'http://localhost',
      fetch: async (url, init) => server.fetch(new Request(url, init)),
    })
  })
  const session = first?.session()
  await session?.execute('x').result
  const [row, ...others] = (await second?.waits())?.waits ?? []
  expect([row?.kind, others]).toMatchObject(['change', [{ kind: 'approval' }]])
  const id = row?.kind === 'change' ? row.change.id : ''
  const seen = second?.session(session?.id ?? '')
  expect((await seen?.get())?.change?.id).toBe(id)
  await expect(second?.acceptChange(session?.id ?? '', 'another')).rejects.toMatchObject({ code: 'definition-changed' })
  expect(await second?.acceptChange(session?.id ?? '', id)).toBe(true)
  expect(await second?.acceptChange(session?.id ?? '', id)).toBe(false)
  const { pending } = (await seen?.follow().result) ?? {}
  await seen?.resolve({ approvals: [{ id: pending?.approvals[0]?.id ?? '', decision: 'approve' }] })
  expect(await seen?.follow().result).toMatchObject({ status: 'completed', text: 'done' })
})

test('a client creates a session under an id of its own', async () => {
  const client = clientOf([{ text: 'Hello' }])
  const session = client.session({ id: 'order-17', agent: 'desk' })
  await session.create()
  await session.create()
  expect(await session.execute('Hi').result).toMatchObject({ sessionId: 'order-17', text: 'Hello' })
  await expect(client.session({ id: 'order-17', agent: 'other' }).create()).rejects.toMatchObject({
    code: 'session-exists',
    status: 409,
  })
  const locate = { name: 'locate', description: 'Where.', input: z.object({}), execute: () => 'here' }
  await expect(client.session({ id: 'order-18', tools: [locate] }).create()).rejects.toMatchObject({
    code: 'invalid-option',
  })
})

test('a client sends options of a run, which the server has to permit', async () => {
  const temperatures: unknown[] = []
  const outcomes: string[] = []
  const model = scriptedModel([({ options }) => (temperatures.push(options.temperature), { text: 'Hello' })], {
    after: 'repeat-last',
  })
  const store = memoryStore()
  const agent = createAgent({ name: 'desk', model, store })
  for (const permitted of [true, false]) {
    const server = createServer({ agents: [agent], store, requestOptions: { temperature: permitted } })
    const client = createClient({
      baseUrl: 'http://localhost',
      fetch: async (url, init) => server.fetch(new Request(url, init)),
    })
    const { result } = client.session().execute('Hi', { temperature: 0.3 })
    outcomes.push(
      await result.then(
        ({ status }) => status,
        ({ code }: ServerError) => code,
      ),
    )
  }
  expect([temperatures, outcomes]).toEqual([[0.3], ['completed', 'invalid-option']])
})

/** A client of a server whose agent stages three refunds. */
function stagedClient(): { client: ReturnType<typeof createClient>; refunded: number[] } {
  const refunded: number[] = []
  const staged = tool({
    name: 'refund',
    stage: true,
    input: z.object({ amount: z.number() }),
    execute: ({ amount }) => `refunded ${refunded.push(amount)}`,
  })
  const toolCalls = [1, 2, 3].map((amount) => ({ name: 'refund', input: { amount } }))
  const store = memoryStore()
  const model = scriptedModel([{ toolCalls }, { text: 'done' }])
  const server = createServer({ agents: [createAgent({ name: 'desk', model, tools: [staged], store })], store })
  const client = createClient({
    baseUrl: 'http://localhost',
    fetch: async (url, init) => server.fetch(new Request(url, init)),
  })
  return { client, refunded }
}

test('onBatch receives the rows of a batch once, and its decision covers them', async () => {
  const { client, refunded } = stagedClient()
  const seen: number[] = []
  const stream = client.session().execute('refund them', {
    onBatch: (rows) => {
      seen.push(rows.length)
      return { decision: 'approve', except: rows.slice(0, 1).map(({ id }) => id) }
    },
    onApproval: () => 'deny',
  })
  expect((await stream.result).text).toBe('done')
  expect(seen).toEqual([3])
  expect(refunded).toEqual([2, 3])
})

test('resolve decides on a batch', async () => {
  const { client, refunded } = stagedClient()
  const session = client.session()
  const { pending } = await session.execute('refund them').result
  await session.resolve({ batches: [{ id: pending.approvals[0]?.batch ?? '', decision: 'approve' }] })
  expect((await session.follow().result).text).toBe('done')
  expect(refunded).toEqual([1, 2, 3])
})
