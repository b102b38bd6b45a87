import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer as createSocketServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { createClient } from '@provost/client'
import { createServer, serve } from '@provost/server'
import { findPostgres, startPostgres } from '@provost/testing'
import { createAgent, memoryStore, rich, RunState, textOf, tool, z } from 'provost'
import type { AgentEvent, SessionStore, Tool } from 'provost'
import { postgresStore } from 'provost/postgres'
import { sqliteStore } from 'provost/sqlite'
import { assertWellFormed, scriptedModel } from 'provost/testing'
import type { ScriptedEntry } from 'provost/testing'

import { check, type Check, type CheckContext } from './check.ts'
import { eventsOf, ofType, readBy } from './reading.ts'

const usage = { inputTokens: 1_000, outputTokens: 100 }
const prices = { 'scripted/scripted-model': { input: 1, output: 10 } }
const deltasOf = (events: readonly AgentEvent[], type: AgentEvent['type']): string =>
  events.flatMap((event) => (event.type === type && 'delta' in event ? [event.delta] : [])).join('')

async function c1({ claim }: CheckContext): Promise<string> {
  const find = tool({
    name: 'find',
    effect: 'none',
    input: z.object({ q: z.string() }),
    async *execute({ q }) {
      yield `for ${q}`
      yield ': 3'
    },
  })
  const model = scriptedModel([
    { reasoning: 'I search.', text: ['Let ', 'me.'], toolCalls: [{ name: 'find', input: { q: 'tea' } }] },
    { text: ['Three', ' found'] },
  ])
  const events = await eventsOf(createAgent({ name: 'd', model, tools: [find] }).stream('go'))
  const types = new Set(events.map(({ type }) => type))
  const named = ['text', 'reasoning', 'tool.call'].flatMap((part) =>
    ['start', 'delta', 'end'].map((at) => `${part}.${at}`),
  )
  for (const type of [
    ...named,
    'message.start',
    'message.end',
    'tool.execute.start',
    'tool.execute.partial',
    'tool.execute.end',
  ])
    assert.ok(
      [...types].some((one) => one === type),
      type,
    )
  assert.equal(deltasOf(events, 'text.delta'), 'Let me.Three found')
  assert.deepEqual(JSON.parse(deltasOf(events, 'tool.call.delta')), { q: 'tea' })
  assert.equal(deltasOf(events, 'tool.execute.partial'), 'for tea: 3')
  assert.equal(deltasOf(events, 'reasoning.delta'), ofType(events, 'reasoning.end')[0]?.text)
  await claim('each event is frozen JSON', () => {
    for (const event of events) {
      assert.ok(Object.isFrozen(event))
      assert.deepEqual(JSON.parse(JSON.stringify(event)), event)
    }
  })
  await claim('text of an attempt that broke is discarded, not glued to the next', async () => {
    const broken = scriptedModel([{ text: ['Half an ans', 'wer'], failAfterChunks: 1 }, { text: 'Full answer' }])
    const all = await eventsOf(createAgent({ name: 'd', model: broken }).stream('go'))
    const ends = ofType(all, 'message.end').filter(
      ({ message }) => message.role === 'assistant' || message.role === 'error',
    )
    assert.deepEqual(
      ends.map(({ discarded }) => discarded ?? false),
      [true, false],
    )
    assert.equal(ofType(all, 'agent.end')[0]?.text, 'Full answer')
  })
  return `${types.size} types of events; deltas join to texts and to the JSON of the call`
}

async function c2({ claim }: CheckContext): Promise<string> {
  let finished = false
  const input = z.object({})
  const tools = [
    tool({ name: 'simple', effect: 'none', input, execute: () => '1 + 1 = 2' }),
    tool({ name: 'rich', effect: 'none', input, execute: () => rich('3 found', { details: { count: 3 } }) }),
    tool({
      name: 'stream',
      effect: 'none',
      input,
      async *execute() {
        yield 'a'
        await sleep(1)
        yield 'b'
      },
    }),
    tool({
      name: 'throws',
      effect: 'none',
      input,
      async *execute() {
        yield 'a'
        throw new Error('broke off')
      },
    }),
    tool({
      name: 'slow',
      effect: 'none',
      input,
      timeoutMs: 50,
      async *execute(_, { signal }) {
        try {
          yield 'a'
          await sleep(10_000, undefined, { signal })
        } finally {
          finished = true
        }
      },
    }),
  ]
  const seen: string[] = []
  const model = scriptedModel([
    { toolCalls: tools.map(({ name }) => ({ name })) },
    (prompt) => {
      seen.push(...readBy(prompt))
      return { text: 'ok' }
    },
  ])
  const events = await eventsOf(createAgent({ name: 'd', model, tools }).stream('go'))
  const ended = ofType(events, 'tool.execute.end')
  assert.deepEqual(
    ended.map(({ output }) => 'value' in output && output.value),
    ['1 + 1 = 2', '3 found', 'ab'],
  )
  assert.deepEqual(ended[1]?.details, { count: 3 })
  assert.ok(!seen.join().includes('"count"'), 'details stay out of the prompt')
  const errors = ofType(events, 'tool.execute.error')
  await claim('a stream that throws is an error with its text', () =>
    assert.match(errors[0]?.error.message ?? '', /broke off/u),
  )
  await claim('a generator past its time is closed', async () => {
    await sleep(20)
    assert.equal(errors[1]?.error.code, 'tool-timeout')
    assert.ok(finished)
  })
  return `partials, details beside the prompt; errors: ${errors.map(({ error }) => error.code).join(', ')}`
}

const locate = tool({ name: 'locate', effect: 'read', input: z.object({ who: z.string() }) })
const ask = (who: string) => ({ name: 'locate', input: { who } })
const remote = (steps: readonly ScriptedEntry[], store?: SessionStore, more: readonly Tool[] = []) =>
  createAgent({ name: 'd', model: scriptedModel([...steps]), tools: [locate, ...more], ...(store && { store }) })
const whatItRead: ScriptedEntry = (prompt) => ({
  text: readBy(prompt)
    .filter((line) => line.startsWith('tool'))
    .join('|'),
})

async function c3({ claim }: CheckContext): Promise<string> {
  const agent = remote([{ toolCalls: [ask('ann'), ask('bob')] }, whatItRead])
  const session = await agent.createSession()
  const statuses: string[] = [session.status]
  session.send('where?')
  statuses.push(session.status)
  const suspended = await session.waitForIdle()
  statuses.push(session.status)
  const calls = suspended?.pending.remoteCalls ?? []
  assert.deepEqual(
    calls.map(({ input }) => input),
    [{ who: 'ann' }, { who: 'bob' }],
  )
  const [ann, bob] = calls.map(({ callId }) => callId)
  await claim('a result for a call that does not wait is refused', async () => {
    await assert.rejects(session.resolve({ toolResults: [{ callId: 'nope', output: 1 }] }), { code: 'unknown-wait' })
  })
  await session.resolve({ toolResults: [{ callId: ann ?? '', output: 'Main Street' }] })
  await session.waitForIdle()
  assert.equal(session.pending.remoteCalls.length, 1)
  await session.resolve({ toolResults: [{ callId: bob ?? '', output: { street: 'Side' } }] })
  const done = await session.waitForIdle()
  statuses.push(session.status)
  assert.match(done?.text ?? '', /Main Street[\s\S]*Side/u)
  assertWellFormed(session.messages)
  assert.deepEqual(statuses, ['idle', 'running', 'suspended', 'idle'])
  await claim('a suspended run resumes from JSON with its results', async () => {
    const first = await remote([{ toolCalls: [ask('ann')] }]).run('where?')
    const other = remote([whatItRead])
    const state = RunState.fromJSON(JSON.parse(JSON.stringify(first.state)), other)
    const callId = first.pending.remoteCalls[0]?.callId ?? ''
    const result = await other.run(state, { toolResults: [{ callId, output: 'here' }] })
    assert.match(result.text, /here/u)
  })
  const failing = async (given: object) => {
    const run = remote([{ toolCalls: [ask('ann'), ask('bob')] }, whatItRead])
    const first = await run.run('where?')
    const [one, two] = first.pending.remoteCalls.map(({ callId }) => callId)
    const resume = run.stream as (...args: unknown[]) => ReturnType<typeof run.stream>
    return eventsOf(
      resume(first.state, {
        toolResults: [
          { callId: one, ...given },
          { callId: two, output: 'Side' },
        ],
      }),
    )
  }
  await claim('a remote side reports failure: an error for the model and in events, beside a success', async () => {
    const events = await failing({ error: { message: 'no GPS', code: 'gps-off' } })
    const errors = ofType(events, 'tool.execute.error')
    assert.deepEqual(
      errors.map(({ error }) => error.message.includes('no GPS')),
      [true],
    )
    assert.equal(errors[0]?.error.code, 'gps-off')
    assert.equal(ofType(events, 'tool.execute.end').length, 1)
    assert.match(ofType(events, 'agent.end')[0]?.text ?? '', /error[\s\S]*no GPS[\s\S]*Side/u)
  })
  for (const output of [{ '~error': { message: 'x' } }, { error: { message: 'x' } }, { isError: true }, null])
    await claim(`an output that looks like an error stays an output: ${JSON.stringify(output)}`, async () => {
      const events = await failing({ output })
      assert.equal(ofType(events, 'tool.execute.end').length, 2)
      const opened = await remote([{ toolCalls: [ask('ann')] }, whatItRead]).createSession()
      const ends: string[] = []
      opened.on('tool.execute.end', () => void ends.push('end')).on('tool.execute.error', () => void ends.push('error'))
      opened.send('where?')
      await opened.waitForIdle()
      await opened.resolve({ toolResults: [{ callId: opened.pending.remoteCalls[0]?.callId ?? '', output }] })
      await opened.waitForIdle()
      assert.deepEqual(ends, ['end'])
    })
  for (const [name, given] of [
    ['both', { output: 1, error: { message: 'x' } }],
    ['neither', {}],
    ['an error without a message', { error: {} }],
  ] as const)
    await claim(`a result with ${name} is refused`, async () => {
      const run = remote([{ toolCalls: [ask('ann')] }, whatItRead])
      const first = await run.run('where?')
      const callId = first.pending.remoteCalls[0]?.callId
      const again = run.run as (...args: unknown[]) => ReturnType<typeof run.run>
      const outcome = await again(first.state, { toolResults: [{ callId, ...given }] }).then(
        ({ error, status }) => error?.code ?? status,
        (error: Error & { code?: string }) => error.code,
      )
      assert.ok(outcome !== 'completed' && outcome !== undefined && outcome !== 'unexpected', outcome)
    })
  return `statuses ${statuses.join(', ')}; two pending calls, answered one by one`
}

async function c4({ claim }: CheckContext): Promise<string> {
  const session = await createAgent({
    name: 'd',
    model: scriptedModel([
      {
        text: ['half', ' of it'],
        failAfterChunks: 1,
        error: Object.assign(new Error('bad request'), { statusCode: 400 }),
      },
      { reasoning: 'I think', text: ['begun', ' on'], stall: true },
      (prompt) => ({ text: readBy(prompt).join('|') }),
    ]),
  }).createSession()
  session.send('one')
  await assert.rejects(session.waitForIdle())
  const failed = session.messages.at(-1)
  assert.deepEqual(
    [failed?.role, failed && textOf(failed), failed?.error?.message.includes('bad request')],
    ['error', 'half', true],
  )
  let started = false
  session.on('text.delta', () => {
    if (!started) void session.abort()
    started = true
  })
  session.send('two')
  await session.waitForIdle().catch(() => {})
  const aborted = session.messages.at(-1)
  assert.equal(aborted?.role, 'aborted')
  assert.match(textOf(aborted), /^begun/u)
  assert.equal(aborted.partial, true)
  await claim('the reasoning of an aborted message is kept', () => {
    assert.ok(aborted.content.some((part) => part.type === 'reasoning' && part.text === 'I think'))
  })
  session.send('three')
  const text = (await session.waitForIdle())?.text
  await claim('what broke off is not replayed to the model, and the session goes on', () => {
    assert.ok(text && !/half|begun/u.test(text), text)
    assertWellFormed(session.messages)
  })
  return `roles ${session.messages.map(({ role }) => role).join(', ')}`
}

async function c5({ claim }: CheckContext): Promise<string> {
  const steps = [
    { toolCalls: [ask('ann')], usage },
    { text: 'a', usage },
    { text: 'b', usage },
    { text: 'c', usage },
  ]
  const agent = createAgent({ name: 'd', model: scriptedModel(steps), tools: [locate], prices })
  const session = await agent.createSession()
  const before = session.cost
  session.send('one')
  await session.waitForIdle()
  assert.equal(session.pending.remoteCalls.length, 1)
  await session.resolve({ toolResults: [{ callId: session.pending.remoteCalls[0]?.callId ?? '', output: 'x' }] })
  await session.waitForIdle()
  for (const text of ['two', 'three']) {
    session.send(text)
    await session.waitForIdle()
  }
  const model = session.model
  assert.equal(session.usage.inputTokens, 4_000)
  assert.ok(Math.abs((session.cost ?? 0) - 4 * (0.001 + 0.001)) < 1e-9, `${session.cost} of ${model}`)
  assert.equal(session.pending.remoteCalls.length, 0)
  await claim('children count in the usage of the session, at every depth', async () => {
    const leaf = createAgent({ name: 'leaf', model: scriptedModel([{ text: 'x', usage }]), prices })
    const middle = createAgent({
      name: 'middle',
      model: scriptedModel([
        { toolCalls: [{ name: 'leaf', input: { task: 't' } }], usage },
        { text: 'x', usage },
      ]),
      tools: [leaf.toTool({ name: 'leaf', description: 'l' })],
      prices,
    })
    const root = createAgent({
      name: 'root',
      model: scriptedModel([
        { toolCalls: [{ name: 'middle', input: { task: 't' } }], usage },
        { text: 'x', usage },
      ]),
      tools: [middle.toTool({ name: 'middle', description: 'm' })],
      prices,
    })
    const opened = await root.createSession()
    opened.send('go')
    const result = await opened.waitForIdle()
    assert.equal(result?.text, 'x')
    assert.equal(opened.usage.inputTokens, 5_000)
    assert.ok(Math.abs((opened.cost ?? 0) - 0.01) < 1e-9, `${opened.cost}`)
  })
  await claim('a child that fails or is resumed counts once', async () => {
    const leaf = createAgent({
      name: 'leaf',
      model: scriptedModel([
        { toolCalls: [ask('ann')], usage },
        { text: 'x', usage },
        { toolCalls: [ask('bob')], usage },
        { error: Object.assign(new Error('no'), { statusCode: 400 }) },
      ]),
      tools: [locate],
      prices,
    })
    const call = { toolCalls: [{ name: 'leaf', input: { task: 't' } }], usage }
    const root = createAgent({
      name: 'root',
      model: scriptedModel([call, call, { text: 'x', usage }]),
      tools: [leaf.toTool({ name: 'leaf', description: 'l' })],
      prices,
    })
    const opened = await root.createSession()
    opened.send('go')
    await opened.waitForIdle()
    for (let n = 0; n < 2; n++) {
      await opened.resolve({ toolResults: [{ callId: opened.pending.remoteCalls[0]?.callId ?? '', output: 'x' }] })
      await opened.waitForIdle()
    }
    assert.equal(opened.usage.inputTokens, 6_000)
    const again = await root.resumeSession(opened.id)
    assert.equal(again.usage.inputTokens, 6_000)
  })
  await claim('a model without a price makes the cost unknown, never 0', async () => {
    const unknown = await createAgent({ name: 'd', model: scriptedModel([{ text: 'x', usage }]) }).createSession()
    unknown.send('x')
    await unknown.waitForIdle()
    assert.equal(unknown.cost, undefined)
  })
  return `cost before ${before}, then ${session.cost} for 4 calls of ${model}`
}

/** A server of one agent on loopback. */
async function serving(
  after: CheckContext['after'],
  store: SessionStore,
  steps: readonly ScriptedEntry[],
  more: object = {},
) {
  const agent = createAgent({ name: 'd', model: scriptedModel([...steps]), tools: [locate], store, prices })
  const { url, close } = await serve(createServer({ agents: [agent], store, pollMs: 50, ...more }), { port: 0 })
  after(close)
  return { url, close }
}

const post = async (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
/** The data of the last frame with this event name. */
const frame = (text: string, name: string): Record<string, unknown> =>
  JSON.parse(/^data: (.*)$/mu.exec(text.split(`event: ${name}\n`).at(-1) ?? '')?.[1] ?? 'null') ?? {}

async function c6({ claim, after }: CheckContext): Promise<string> {
  const store = memoryStore()
  const words = Array.from({ length: 40 }, (_, n) => `word${n} `)
  const { url } = await serving(after, store, [
    { text: ['Hel', 'lo'], usage },
    (prompt) => ({ text: readBy(prompt).join('|'), usage }),
    { text: words, delayMs: 5 },
  ])
  const response = await post(`${url}/api/agent/execute`, { input: 'Hi' })
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/u)
  const id = response.headers.get('x-session-id') ?? ''
  const complete = frame(await response.text(), 'execute_complete')
  assert.equal(complete['status'], 'completed')
  const second = frame(
    await (await post(`${url}/api/agent/execute`, { sessionId: id, input: 'Again' })).text(),
    'execute_complete',
  )
  await claim('the server keeps the history: a second turn sends its input only', async () => {
    assert.equal(second['status'], 'completed')
    const { messages } = (await (await fetch(`${url}/api/agent/session/${id}`)).json()) as {
      messages: { content: { text: string }[] }[]
    }
    assert.equal(messages.at(-1)?.content[0]?.text, 'user: Hi|assistant: Hello|user: Again')
  })
  await claim('GET session has usage, cost, model and pending calls', async () => {
    const view = (await (await fetch(`${url}/api/agent/session/${id}`)).json()) as Record<string, unknown>
    assert.deepEqual(
      ['usage', 'cost', 'model', 'pending'].filter((key) => view[key] === undefined),
      [],
    )
    assert.equal((view['usage'] as { inputTokens: number }).inputTokens, 2_000)
  })
  for (const [name, call, status] of [
    ['an unknown session', async () => fetch(`${url}/api/agent/session/unknown`), 404],
    [
      'a body that is not JSON',
      async () =>
        fetch(`${url}/api/agent/execute`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{',
        }),
      400,
    ],
    ['an unknown option', async () => post(`${url}/api/agent/execute`, { input: 'x', option: 1 }), 400],
    [
      'a result that nothing waits for',
      async () => post(`${url}/api/agent/session/${id}/tool-results`, { toolResults: [{ callId: 'x', output: 1 }] }),
      404,
    ],
  ] as const)
    await claim(`${name} is ${status} with code and hint`, async () => {
      const refused = await call()
      const body = (await refused.json()) as { error: { code: string; message: string; hint?: string } }
      assert.ok(refused.status === status || refused.status === 409, `${refused.status} ${JSON.stringify(body)}`)
      assert.ok(body.error.code && body.error.hint, JSON.stringify(body))
    })
  await claim('a stream that is cut goes on without loss or repetition', async () => {
    const target = new URL(url)
    let cuts = 0
    const proxy = createSocketServer((socket) => {
      const upstream = connect(Number(target.port), target.hostname)
      let bytes = 0
      const cut = (chunk: Buffer): void => {
        bytes += chunk.length
        if (bytes < 1_500 || cuts > 2) return
        cuts++
        socket.destroy()
        upstream.destroy()
      }
      upstream
        .on('data', (chunk) => socket.write(chunk))
        .on('data', cut)
        .on('error', () => {})
        .on('close', () => socket.destroy())
      socket.on('error', () => {}).pipe(upstream)
    }).listen(0, '127.0.0.1')
    after(() => proxy.close())
    await once(proxy, 'listening')
    const address = proxy.address()
    const client = createClient({ baseUrl: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` })
    const events = await eventsOf(client.session({ id }).execute('Long'))
    assert.ok(cuts > 0)
    assert.equal(deltasOf(events, 'text.delta'), words.join(''))
    assert.equal(new Set(events.map((event) => event.id)).size, events.length)
    assert.equal(ofType(events, 'agent.end')[0]?.text, words.join(''))
  })
  return `SSE with X-Session-Id and execute_complete; 404, 400; a stream cut on the way arrives whole`
}

async function c7({ claim, after, folder }: CheckContext): Promise<string> {
  const stores: [string, () => Promise<() => SessionStore>][] = [
    [
      'SQLite',
      async () => {
        const file = join(folder(), 'c7.db')
        return () => sqliteStore(file)
      },
    ],
    [
      'PostgreSQL',
      async () => {
        const { url, stop } = await startPostgres()
        after(stop)
        return () => postgresStore(url)
      },
    ],
  ]
  const handed: string[] = []
  for (const [name, place] of stores.slice(0, findPostgres() === undefined ? 1 : 2))
    await claim(
      `a second server on ${name} answers what the first one asked, remote call after remote call`,
      async () => {
        const open = await place()
        const own = [open(), open()]
        for (const store of own) after(() => store.close())
        const first = await serving(after, own[0] ?? open(), [{ toolCalls: [ask('ann')] }])
        const response = await post(`${first.url}/api/agent/execute`, { input: 'Hi' })
        const id = response.headers.get('x-session-id') ?? ''
        assert.equal(frame(await response.text(), 'execute_complete')['status'], 'suspended')
        await first.close()
        const second = await serving(after, own[1] ?? open(), [{ toolCalls: [ask('bob')] }, whatItRead])
        const session = createClient({ baseUrl: second.url }).session({ id })
        for (const output of ['Main', 'Side']) {
          const callId = (await session.get()).pending.remoteCalls[0]?.callId ?? ''
          const resumed = await post(`${second.url}/api/agent/execute`, {
            sessionId: id,
            toolResults: [{ callId, output }],
          })
          await resumed.text()
        }
        assert.match(JSON.stringify((await session.get()).messages.at(-1)), /Main[\s\S]*Side/u)
        handed.push(name)
      },
    )
  await claim('a remote call past its time is an error for the model', async () => {
    const late = tool({ name: 'locate', effect: 'read', input: z.object({ who: z.string() }), timeoutMs: 50 })
    const session = await createAgent({
      name: 'd',
      model: scriptedModel([{ toolCalls: [ask('ann')] }, whatItRead]),
      tools: [late],
    }).createSession()
    const codes: string[] = []
    session.on('tool.execute.error', ({ error }) => void codes.push(error.code)).send('where?')
    await session.waitForIdle()
    for (let tries = 0; tries < 100 && session.status !== 'idle'; tries++) await sleep(20)
    assert.deepEqual([codes, session.status], [['tool-timeout'], 'idle'])
  })
  const ended: string[] = []
  await claim('a tool of a client that throws is an error, beside one that does not', async () => {
    const { url } = await serving(after, memoryStore(), [
      { toolCalls: [{ name: 'gps' }, { name: 'clock' }] },
      whatItRead,
    ])
    const session = createClient({ baseUrl: url }).session({
      tools: [
        {
          name: 'gps',
          input: z.object({}),
          execute: () => {
            throw new Error('no GPS here')
          },
        },
        { name: 'clock', input: z.object({}), execute: () => 'noon' },
      ],
    })
    const events = await eventsOf(session.execute('go'))
    for (const event of events) if (/^tool.execute.(end|error)$/u.test(event.type)) ended.push(event.type)
    assert.deepEqual(ended.toSorted(), ['tool.execute.end', 'tool.execute.error'])
    assert.match(ofType(events, 'agent.end')[0]?.text ?? '', /error[\s\S]*noon/u)
  })
  await claim('over HTTP an error of a remote tool is accepted, and both or neither is 400', async () => {
    const { url } = await serving(after, memoryStore(), [{ toolCalls: [ask('ann')] }, whatItRead])
    const response = await post(`${url}/api/agent/execute`, { input: 'Hi' })
    const sessionId = response.headers.get('x-session-id')
    await response.text()
    const view = (await (await fetch(`${url}/api/agent/session/${sessionId}`)).json()) as {
      pending: { remoteCalls: { callId: string }[] }
    }
    const callId = view.pending.remoteCalls[0]?.callId
    for (const given of [{ output: 1, error: { message: 'x' } }, {}, { error: 'x' }])
      assert.equal(
        (await post(`${url}/api/agent/execute`, { sessionId, toolResults: [{ callId, ...given }] })).status,
        400,
        JSON.stringify(given),
      )
    const done = await post(`${url}/api/agent/execute`, {
      sessionId,
      toolResults: [{ callId, error: { message: 'no GPS' } }],
    })
    assert.equal(done.status, 200)
    assert.match(await done.text(), /event: tool.execute.error/u)
  })
  await claim('requests over the rate get 429 with retry-after', async () => {
    const { url } = await serving(after, memoryStore(), [], { limits: { requestsPerMinute: 3 } })
    const statuses = []
    for (let n = 0; n < 5; n++) statuses.push(await fetch(`${url}/api/agent/session/unknown`))
    assert.deepEqual(
      statuses.map(({ status }) => status),
      [404, 404, 404, 429, 429],
    )
    assert.ok(Number(statuses[4]?.headers.get('retry-after')) > 0)
  })
  return `handed over on ${handed.join(' and ')}; client tools ended as ${ended.join(', ')}`
}

export const rows: readonly Check[] = [
  check('C1', 'start, delta and end of text, reasoning, arguments, messages, execution', c1),
  check('C2', 'tools stream their output; simple tools are functions', c2),
  check('C3', 'remote tools: suspend, resume with results or errors', c3),
  check('C4', 'error and aborted messages with what was said', c4),
  check('C5', 'cost, model and pending calls on the session', c5),
  check('C6', 'HTTP: execute with SSE, GET session, client SDK, reconnection', c6),
  check('C7', 'remote time-outs, SQLite and PostgreSQL, chained calls, partial failures, rates', c7),
]
