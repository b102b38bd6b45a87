import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer as createSocketServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { createClient } from '@provost/client'
import { createServer, serve } from '@provost/server'
import { createAgent, memoryStore, textOf, tool, z } from 'provost'
import type { AgentEvent } from 'provost'
import { compaction, createMemory } from 'provost/memory'
import { sqliteMemory, sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'
import type { ScriptedEntry, ScriptedPrompt } from 'provost/testing'

import { check, type Check, type CheckContext } from './check.ts'
import { attempt, eventsOf, loose, ofType, readBy } from './reading.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
/** The Bun that `npm run matrix` installs. */
const ofMatrix = join(root, 'matrix/node_modules/bun/bin/bun')

async function n1({ claim }: CheckContext): Promise<string> {
  const script =
    "const { createAgent } = await import('provost'); const { scriptedModel } = await import('provost/testing'); console.log((await createAgent({ name: 'd', model: scriptedModel([{ text: 'hello' }]) }).run('hi')).text)"
  const node = await run(process.execPath, ['--conditions=@provost/source', '--input-type=module', '-e', script], {
    cwd: root,
  })
  assert.equal(node.stdout, 'hello\n')
  await claim('Bun runs the same script', async () => {
    const bun = await run(existsSync(ofMatrix) ? ofMatrix : 'bun', ['--conditions=@provost/source', '-e', script], {
      cwd: root,
    })
    assert.equal(bun.stdout, 'hello\n')
  })
  return 'Node and Bun'
}

/** A server of one agent on loopback. */
async function serving(after: CheckContext['after'], steps: readonly ScriptedEntry[], more: object = {}) {
  const store = memoryStore()
  const agent = createAgent({
    name: 'desk-of-the-longest-name',
    model: scriptedModel([...steps], { after: 'repeat-last' }),
    store,
  })
  const options = { agents: [agent], store, ...more }
  const { url, close } = await serve(loose(createServer, options) as ReturnType<typeof createServer>, { port: 0 })
  after(close)
  return { url, store, agent }
}
const send = async (
  method: string,
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(url, { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })

async function n2({ claim, after }: CheckContext): Promise<string> {
  const words = Array.from({ length: 35 }, (_, n) => `word number ${n} of an answer that is long, `)
  const answer = words.join('')
  const { url } = await serving(after, [{ text: words, delayMs: 3 }])
  const response = await send('POST', `${url}/api/agent/execute`, { input: 'Go' }, { 'accept-encoding': 'identity' })
  const sessionId = response.headers.get('x-session-id') ?? ''
  const text = await response.text()
  const frames = text.split('\n\n').filter((one) => one.includes('event: text.delta\n'))
  const beside = frames.map((frame) => {
    const written = words.find((word) => frame.includes(JSON.stringify(word).slice(1, -1))) ?? ''
    return Buffer.byteLength(frame) + 2 - Buffer.byteLength(written)
  })
  const onWire = Buffer.byteLength(text)
  await claim('a text.delta frame costs at most 120 bytes beside its text', () => {
    assert.equal(frames.length, 35)
    assert.ok(Math.max(...beside) <= 120, `${Math.max(...beside)} bytes`)
  })
  await claim('an answer of 1.5 KB in 35 deltas is at most 8 KB', () => assert.ok(onWire <= 8_192, `${onWire} bytes`))
  await claim('the client receives whole events: text, ids and agents', async () => {
    const events = await eventsOf(createClient({ baseUrl: url }).session().execute('Go'))
    const { runId } = events[0] ?? {}
    assert.ok(runId && events.every((event) => event.runId === runId && event.agent === 'desk-of-the-longest-name'))
    assert.equal(ofType(events, 'text.end')[0]?.text, answer)
    assert.equal(ofType(events, 'agent.end')[0]?.text, answer)
    assert.equal(ofType(events, 'turn.end')[0]?.text, answer)
    const [ended] = ofType(events, 'message.end').filter(({ message }) => message.role === 'assistant')
    assert.deepEqual(
      ended?.message.content.map((part) => part.type === 'text' && part.text),
      [answer],
    )
  })
  const verbose = await (
    await fetch(`${url}/api/agent/session/${sessionId}/events?verbose=1`, {
      headers: { 'accept-encoding': 'identity' },
    })
  ).text()
  await claim('?verbose=1 sends whole events', () => {
    const data = [...verbose.matchAll(/^data: (.*)$/gmu)].map(
      ([, json]) => JSON.parse(json ?? '') as Record<string, unknown>,
    )
    const end = data.find(({ type }) => type === 'agent.end')
    assert.equal(end?.['text'], answer)
    assert.ok(
      data
        .filter(({ type }) => type !== undefined && type !== 'execute_complete')
        .every((event) => event['runId'] !== undefined),
    )
  })
  await claim('a stream is compressed for a client that accepts it', async () => {
    const packed = await send('POST', `${url}/api/agent/execute`, { input: 'Go' }, { 'accept-encoding': 'gzip' })
    assert.equal(packed.headers.get('content-encoding'), 'gzip')
    assert.match(await packed.text(), /execute_complete/u)
  })
  await claim(
    'small frames restore exactly the events that whole frames have, with children, retries, tools and cuts',
    async () => {
      const { client, whole } = await bothForms(after)
      const bare = (event: Record<string, unknown>) => ({ ...event, seq: 0 })
      const small = new Map(client.map((event) => [`${event.type} ${event.id}`, bare({ ...event })]))
      // Deltas may be joined for a reader that reconnects; durable events have a point in their id.
      const isLasting = (event: { id?: unknown }): boolean => String(event.id).split(':').at(-1)?.includes('.') ?? false
      const compared = whole.filter(
        (event) =>
          isLasting(event) ||
          (small.has(`${String(event['type'])} ${String(event['id'])}`) &&
            !/delta|partial|progress/u.test(String(event['type']))),
      )
      assert.ok(compared.length > 60, `${compared.length} of ${whole.length}`)
      for (const event of compared)
        assert.deepEqual(small.get(`${String(event['type'])} ${String(event['id'])}`), bare(event))
      // The question and the answer of a wait have the same id, its token.
      const twice = client.filter(
        (event, n) => client.findIndex(({ id, type }) => id === event.id && type === event.type) < n,
      )
      assert.deepEqual(
        twice.map(({ id, type }) => `${type} ${id}`),
        [],
      )
      const said = ofType(client, 'message.end').filter(
        ({ message, discarded }) => message.role === 'assistant' && !discarded,
      )
      for (const { messageId, message } of said) {
        const own = client.filter((event) => event.type === 'text.delta' && event.messageId === messageId)
        assert.equal(own.map((event) => 'delta' in event && event.delta).join(''), textOf(message))
      }
    },
  )
  return `text.delta: at most ${Math.max(...beside)} bytes beside its text; ${Buffer.byteLength(answer)} bytes of answer are ${onWire} on the wire`
}

/** A run with all that a stream may carry: by the client over a connection that is cut, and as whole frames. */
async function bothForms(after: CheckContext['after']) {
  const store = memoryStore()
  const count = tool({
    name: 'count',
    effect: 'none',
    input: z.object({ to: z.number() }),
    async *execute({ to }, ctx) {
      for (let n = 0; n < to; n++) {
        ctx.progress({ n })
        yield `${n} \u{1F600}`
        await sleep(2)
      }
    },
  })
  const broken = tool({
    name: 'broken',
    effect: 'none',
    input: z.object({}),
    execute: () => {
      throw new Error('no')
    },
  })
  const child = createAgent({
    name: 'child',
    model: scriptedModel(
      [
        { reasoning: 'hm', text: ['ha', 'lf '], toolCalls: [{ name: 'count', input: { to: 3 } }], delayMs: 2 },
        { text: ['the ', 'same'], delayMs: 2 },
      ],
      { after: 'repeat-last' },
    ),
    tools: [count],
  })
  const model = scriptedModel([
    { text: ['cut', ' off'], failAfterChunks: 1, delayMs: 2 },
    {
      reasoning: 'I think',
      text: ['\ud83d', '\ude00 and ', ''],
      toolCalls: [
        { name: 'child', input: { task: 't' } },
        { name: 'child', input: { task: 't' } },
        { name: 'count', input: { to: 4 } },
        { name: 'broken' },
        { name: 'count', input: { to: 'x' } },
      ],
      delayMs: 3,
    },
    { text: ['the ', 'same'], delayMs: 2 },
  ])
  const agent = createAgent({
    name: 'desk',
    model,
    store,
    tools: [count, broken, child.toTool({ name: 'child', description: 'c' })],
  })
  const { url, close } = await serve(createServer({ agents: [agent], store }), { port: 0 })
  after(close)
  const target = new URL(url)
  const proxy = createSocketServer((socket) => {
    const upstream = connect(Number(target.port), target.hostname)
    let bytes = 0
    upstream.on('data', (chunk) => {
      socket.write(chunk)
      bytes += chunk.length
      if (bytes > 2_500) socket.destroy()
    })
    upstream.on('error', () => {}).on('close', () => socket.destroy())
    socket
      .on('error', () => {})
      .on('close', () => upstream.destroy())
      .pipe(upstream)
  }).listen(0, '127.0.0.1')
  after(() => proxy.close())
  await once(proxy, 'listening')
  const address = proxy.address()
  const session = createClient({
    baseUrl: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
  }).session()
  const client: AgentEvent[] = []
  let reading: Promise<string> | undefined
  for await (const event of session.execute('Go')) {
    client.push(event)
    reading ??= fetch(`${url}/api/agent/session/${session.id}/events?verbose=1`).then(async (response) =>
      response.text(),
    )
  }
  const text = (await reading) ?? ''
  const whole = [...text.matchAll(/^data: (.*)$/gmu)].map(
    ([, json]) => JSON.parse(json ?? '') as Record<string, unknown>,
  )
  return { client, whole: whole.filter(({ id }) => id !== undefined) }
}

async function n3({ claim, after, folder }: CheckContext): Promise<string> {
  const prompts: ScriptedPrompt[] = []
  const steps: ScriptedEntry[] = [
    (prompt) => {
      prompts.push(prompt)
      return { text: 'ok' }
    },
  ]
  const bare = await serving(after, steps)
  for (const options of [{ model: 'x/y' }, { temperature: 0.2 }, { toolChoice: 'none' }])
    await claim(`${JSON.stringify(options)} is refused by name where the server does not allow it`, async () => {
      const refused = await send('POST', `${bare.url}/api/agent/execute`, { input: 'x', options })
      assert.equal(refused.status, 400)
      assert.match(await refused.text(), new RegExp(Object.keys(options)[0] ?? '', 'u'))
    })
  assert.equal(prompts.length, 0)
  const heard: string[] = []
  const named =
    (name: string): ScriptedEntry =>
    ({ options }) => {
      heard.push(`${name} ${options.temperature ?? '-'} ${options.toolChoice?.type ?? '-'}`)
      return heard.length % 2 === 1 && name === 'fast' ? { toolCalls: [{ name: 'locate' }] } : { text: 'ok' }
    }
  const store = sqliteStore(join(folder(), 'n3.db'))
  after(() => store.close())
  const locate = tool({ name: 'locate', effect: 'read', input: z.object({}) })
  const open = async (): Promise<string> => {
    const model = scriptedModel([named('default')], { after: 'repeat-last' })
    const fast = scriptedModel([named('fast')], { after: 'repeat-last' })
    const agent = createAgent({ name: 'd', model, store, tools: [locate] })
    const requestOptions = { models: { fast }, temperature: { min: 0, max: 1 }, toolChoice: true }
    const options = { agents: [agent], store, requestOptions }
    const { url, close } = await serve(loose(createServer, options) as ReturnType<typeof createServer>, { port: 0 })
    after(close)
    return url
  }
  const url = await open()
  for (const options of [
    { model: 'slow' },
    { model: '__proto__' },
    { model: 'constructor' },
    { temperature: 2 },
    { temperature: -1 },
    { toolChoice: 'perhaps' },
    { maxOutputTokens: 9 },
  ])
    await claim(`${JSON.stringify(options)} is refused beside what is allowed`, async () => {
      const refused = await send('POST', `${url}/api/agent/execute`, { input: 'x', options })
      assert.equal(refused.status, 400)
    })
  await claim(
    'a run takes what is allowed, keeps it when another process resumes it, and the next run does not have it',
    async () => {
      const first = await send('POST', `${url}/api/agent/execute`, {
        input: 'x',
        options: { model: 'fast', temperature: 0.2, toolChoice: 'auto' },
      })
      const sessionId = first.headers.get('x-session-id') ?? ''
      await first.text()
      const other = await open()
      const session = createClient({ baseUrl: other }).session({ id: sessionId })
      const callId = (await session.get()).pending.remoteCalls[0]?.callId
      await (
        await send('POST', `${other}/api/agent/execute`, { sessionId, toolResults: [{ callId, output: 'here' }] })
      ).text()
      await (await send('POST', `${other}/api/agent/execute`, { sessionId, input: 'y' })).text()
      assert.deepEqual(heard, ['fast 0.2 auto', 'fast 0.2 auto', 'default - auto'])
    },
  )
  const seen = heard.join(', ')
  await claim('of two requests at once, none loses its options', async () => {
    const session = createClient({ baseUrl: url }).session()
    await session.execute('hi').result
    for (let n = 0; n < 5; n++) {
      heard.length = 0
      const ask = async (key: string, options: object) => {
        const body = { sessionId: session.id, input: key, options }
        await (await send('POST', `${url}/api/agent/execute`, body, { 'idempotency-key': `${key}-${n}` })).text()
      }
      await Promise.all([ask('f', { temperature: 0.9 }), ask('g', {})])
      assert.ok(
        heard.some((call) => call.includes('0.9')),
        `attempt ${n}: ${heard.join(', ')}`,
      )
    }
  })
  return `refused by default; ${seen}`
}

async function n4({ claim, after }: CheckContext): Promise<string> {
  const { url } = await serving(after, [{ text: 'ok' }], {
    authenticate: (request: Request) => ({ id: request.headers.get('x-user') ?? 'unknown' }),
  })
  const put = async (id: string, user: string, body: unknown = {}) =>
    send('PUT', `${url}/api/agent/session/${encodeURIComponent(id)}`, body, { 'x-user': user })
  const statuses = [await put('mine-0017', 'ann'), await put('mine-0017', 'ann')].map(({ status }) => status)
  assert.ok(
    statuses.every((status) => status >= 200 && status < 300),
    statuses.join(),
  )
  const executed = await send(
    'POST',
    `${url}/api/agent/execute`,
    { sessionId: 'mine-0017', input: 'hi' },
    { 'x-user': 'ann' },
  )
  assert.equal(executed.headers.get('x-session-id'), 'mine-0017')
  assert.match(await executed.text(), /execute_complete/u)
  await claim('the id of another principal is not taken over', async () => {
    const taken = await put('mine-0017', 'bob')
    assert.equal(taken.status, 409)
    assert.equal((await fetch(`${url}/api/agent/session/mine-0017`, { headers: { 'x-user': 'bob' } })).status, 404)
  })
  for (const id of ['../../x', 'a/b', 'x'.repeat(10_000), ' ', 'a\u0000b'])
    await claim(`the id ${JSON.stringify(id.slice(0, 12))} is refused`, async () => {
      const { status } = await put(id, 'ann')
      assert.ok(status >= 400 && status < 500, `${status}`)
    })
  return `PUT twice: ${statuses.join(', ')}`
}

async function n5({ claim }: CheckContext): Promise<string> {
  const work = tool({
    name: 'work',
    title: 'Does the work',
    effect: 'read',
    input: z.object({}),
    execute: () => 'done',
  })
  const agent = createAgent({
    name: 'd',
    model: scriptedModel([{ text: ['a', 'b'], delayMs: 10 }, { text: 'late' }]),
    tools: [work],
  })
  assert.equal(agent.registry.tools[0]?.title, 'Does the work')
  const session = await agent.createSession()
  const withdrawn = new AbortController()
  session.send('one')
  session.send('two', { mode: 'queue', signal: withdrawn.signal })
  withdrawn.abort()
  assert.equal((await session.waitForIdle())?.text, 'ab')
  assert.deepEqual(
    session.messages.map(({ role }) => role),
    ['user', 'assistant'],
  )
  await claim('a signal aborts the run that its message started', async () => {
    const other = await createAgent({ name: 'd', model: scriptedModel([{ text: 'x', stall: true }]) }).createSession()
    const stop = new AbortController()
    other.send('one', { signal: stop.signal })
    await sleep(20)
    stop.abort()
    assert.equal((await other.waitForIdle())?.status, 'aborted')
  })
  return 'title of a tool; a queued message withdrawn by its signal'
}

async function n6({ claim }: CheckContext): Promise<string> {
  const script = `
    const { registerHooks } = await import('node:module')
    const loaded = []
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
    await import('provost')
    console.log(JSON.stringify(loaded))`
  const args = ['--conditions=@provost/source', '--input-type=module', '-e', script]
  const { stdout } = await run(process.execPath, args, { cwd: root, maxBuffer: 2 ** 24 })
  const loaded: string[] = JSON.parse(stdout)
  for (const part of ['memory', 'governance', 'code-mode'])
    await claim(`an import of provost loads nothing of ${part}`, () => {
      assert.deepEqual(loaded.filter((url) => url.includes(`/packages/${part}/src/`)).length, 0)
    })
  return `import 'provost' loads ${loaded.length} files`
}

async function n7({ claim, folder }: CheckContext): Promise<string> {
  const words = Array.from({ length: 4_000 }, (_, n) => `word${n}`).join(' ')
  const model = scriptedModel(
    [(prompt) => ({ text: readBy(prompt).join().length > 200 ? `summary ${words.slice(0, 200)}` : 'ok' })],
    { after: 'repeat-last' },
  )
  const agent = createAgent({ name: 'd', model, extensions: [compaction()] })
  await claim('agent.compact shortens a session', async () => {
    const session = await agent.createSession()
    for (const text of [words, words, 'the end']) {
      session.send(text)
      await session.waitForIdle()
    }
    const size = (): number => JSON.stringify(session.messages).length
    const before = size()
    await (loose(Reflect.get(agent, 'compact') as () => unknown, session) as Promise<unknown>)
    assert.ok(size() < before, `${before} to ${size()}`)
  })
  await claim('registry.listEager leaves deferred tools out', () => {
    const make = (name: string, deferLoading: boolean) =>
      tool({ name, effect: 'none', input: z.object({}), deferLoading, execute: () => 1 })
    const { registry } = createAgent({ name: 'd', model, tools: [make('eager', false), make('late', true)] })
    const list = loose((Reflect.get(registry, 'listEager') as () => unknown).bind(registry)) as { name: string }[]
    assert.deepEqual(
      list.map((one) => one.name).filter((name) => name !== 'tool_search'),
      ['eager'],
    )
  })
  await claim('wrong arguments are errors of the family', async () => {
    const store = sqliteStore(join(folder(), 'n7.db'))
    const memory = createMemory({ store: sqliteMemory(':memory:') })
    const session = await agent.createSession()
    const bad: unknown[] = []
    for (const [name, target, methods] of [
      ['agent', agent, ['run', 'createSession', 'resumeSession', 'toTool', 'fanOut']],
      ['session', session, ['send', 'deliver', 'resolve', 'on', 'fork', 'abort']],
      ['memory', memory, ['remember', 'recall', 'forget', 'list']],
      ['store', store, ['lease', 'append', 'deliver', 'list', 'delete']],
    ] as [string, object, string[]][])
      for (const method of methods)
        for (const argument of [{ nonsense: 1 }, 17, [null]]) {
          const call = Reflect.get(target, method) as ((...args: unknown[]) => unknown) | undefined
          if (call === undefined) continue
          const error = await attempt(async () => call.call(target, argument)).then(
            () => undefined,
            (thrown: unknown) => thrown,
          )
          if (error instanceof TypeError || error instanceof RangeError)
            bad.push(`${name}.${method}(${JSON.stringify(argument)}): ${error.message}`)
        }
    await session.waitForIdle().catch(() => {})
    assert.deepEqual(bad, [])
  })
  return 'compact, listEager, wrong arguments'
}

export const rows: readonly Check[] = [
  check('N1', 'Bun', n1),
  check('N2', 'small events on the wire', n2),
  check('N3', 'model, temperature and tool choice of a request over HTTP', n3),
  check('N4', 'a client chooses the id of a new session', n4),
  check('N5', 'a title of tools for people; messages that a signal withdraws', n5),
  check('N6', 'an import costs what it uses', n6),
  check('N7', 'agent.compact, registry.listEager, errors of the family', n7),
]
