import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { HttpAgent } from '@ag-ui/client'
import { Chat } from '@ai-sdk/react'
import { createClient } from '@provost/client'
import type { Client } from '@provost/client'
import type { ChatMessage } from '@provost/client/ai'
import { chatTransport } from '@provost/client/ai'
import type { AgentEvent, Entry, SessionStore } from '@provost/core'
import { createServer, createWorker, serve } from '@provost/server'
import { effectFile, findPostgres, startPostgres } from '@provost/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import type { WritingOptions } from './fixture/writing-process.ts'
import { early, openStore, words, writer } from './fixture/writing-process.ts'

const script = fileURLToPath(new URL('fixture/writing-process.ts', import.meta.url))
const full = process.env['PROVOST_TEST_FULL'] === '1'

/** Where a client sends its requests. */
interface Address {
  port: string
}

interface Started extends Address {
  readonly child: ChildProcess
  /** What the process has said: a server its port, then whether it closes. */
  readonly lines: readonly string[]
}

/** A place for a store, with processes over it. */
interface World extends Pick<WritingOptions, 'where' | 'effects'> {
  readonly gate: string
  /** Starts a process of its own. */
  start(role: 'server' | 'worker', stops: WritingOptions['stops']): Promise<Started>
  /** Starts a server in this process. It continues what others leave, unless it is only read. */
  serveHere(options?: { readonly concurrency?: number }): Promise<Address>
  /** Starts a worker in this process. */
  workHere(): void
  /** Opens the store in this process. */
  open(): SessionStore
}

async function world(kind: 'sqlite' | 'postgres'): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'provost-takeover-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const database = kind === 'postgres' ? await startPostgres() : undefined
  if (database) onTestFinished(() => database.stop())
  const place = {
    where: database?.url ?? join(folder, 'sessions.db'),
    effects: join(folder, 'effects.txt'),
    gate: join(folder, 'gate'),
  }
  const open = (): SessionStore => {
    const store = openStore(place.where)
    onTestFinished(() => store.close())
    return store
  }
  return {
    ...place,
    open,
    async start(role, stops) {
      const options: WritingOptions = { ...place, stops }
      const args = ['--conditions=@provost/source', script, role, JSON.stringify(options)]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      onTestFinished(() => kill(child))
      let said = ''
      child.stderr.on('data', (text: Buffer) => (said += text.toString()))
      const failed = once(child, 'close').then(() => Promise.reject(new Error(`The process did not start: ${said}`)))
      failed.catch(() => {})
      const lines: string[] = []
      const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
      await Promise.race([once(reader, 'line'), failed])
      return { port: lines[0] ?? '', child, lines }
    },
    async serveHere(options = {}) {
      const store = open()
      const agents = [writer(store, { ...place, stops: 'never' })]
      const { port, close } = await serve(createServer({ agents, store, pollMs: 20, ...options }), { port: 0 })
      onTestFinished(() => close({ graceMs: 0 }))
      return { port: String(port) }
    },
    workHere() {
      const store = open()
      const worker = createWorker({ agents: [writer(store, { ...place, stops: 'never' })], store, pollMs: 20 })
      onTestFinished(() => worker.close({ graceMs: 0 }))
    },
  }
}

/** Ends a process. */
async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

const through =
  (server: Address): typeof fetch =>
  (url, init) =>
    fetch(Object.assign(new URL(url instanceof Request ? url.url : url), { port: server.port }), init)

const clientAt = (server: Address): Client =>
  createClient({ baseUrl: 'http://127.0.0.1', fetch: through(server), reconnectMs: 85_000 })

const chatAt = (server: Address): Chat<ChatMessage> =>
  new Chat<ChatMessage>({
    id: 'c',
    transport: chatTransport({ api: 'http://127.0.0.1/api/chat', fetch: through(server) }),
  })

/** Reads all events of a session. */
function read(
  client: Client,
  sessionId: string,
): { readonly events: readonly AgentEvent[]; readonly over: Promise<void> } {
  const stream = client.session(sessionId).follow()
  const events: AgentEvent[] = []
  const over = (async () => {
    for await (const event of stream) events.push(event)
    expect(await stream.result).toMatchObject({ status: 'completed', text: words.join('') })
  })()
  over.catch(() => {})
  return { events, over }
}

const textOf = (events: readonly AgentEvent[]): string =>
  events.flatMap((event) => (event.type === 'text.delta' ? [event.delta] : [])).join('')

/** The text that a page shows, by the parts of its messages. */
const shown = ({ messages }: Chat<ChatMessage>): readonly (readonly string[])[] =>
  messages.map(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))

const partial = `I note.${words.slice(0, early).join('')}`

/** Nothing is lost, and nothing comes twice. */
function expectWhole(events: readonly AgentEvent[]): void {
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  const lasting = events.filter(({ id }) => !id.includes('~'))
  expect(new Set(lasting.map(({ id, type }) => `${type} ${id}`)).size).toBe(lasting.length)
  const resumed = events.findIndex(({ type }) => type === 'agent.resumed')
  expect(textOf(events.slice(0, resumed))).toBe(partial)
  // The unfinished answer of the dead process is void: the next one writes it anew.
  expect(textOf(events.slice(resumed))).toBe(words.join(''))
  const counts = Map.groupBy(lasting, ({ type }) => type)
  for (const type of ['agent.start', 'agent.resumed', 'tool.execute.start', 'tool.execute.end', 'agent.end'] as const)
    expect([type, counts.get(type)?.length]).toEqual([type, 1])
}

/** Reads a stream of Open Responses. It may be cut. */
function readResponse(response: Response): {
  readonly events: readonly Record<string, unknown>[]
  readonly over: Promise<void>
} {
  const events: Record<string, unknown>[] = []
  const over = (async () => {
    let text = ''
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString()
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = /^data: (.*)$/mu.exec(block)?.[1]
        if (data?.startsWith('{')) events.push(JSON.parse(data))
      }
    }
  })()
  over.catch(() => {})
  return { events, over }
}

/** Returns a response that ends where its server dies, as behind a proxy: the client of AG-UI leaves a read that fails unhandled. */
function untilCut(response: Response): Response {
  const reader = response.body?.getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value } = (await reader?.read().catch(() => undefined)) ?? {}
      if (value) controller.enqueue(value)
      else controller.close()
    },
  })
  return new Response(body, response)
}

/** Leaves a session whose input no process has read. */
async function queue(store: SessionStore, effects: string, id: string): Promise<void> {
  const agent = writer(store, { where: '', effects, stops: 'never' })
  await (await agent.createSession({ id, principal: { id: 'local' } })).close()
  await store.deliver(id, 'send/1', { mode: 'queue', input: 'go' }, 'ann')
}

async function statusOf(store: SessionStore, id: string): Promise<string | undefined> {
  for await (const info of store.list()) if (info.id === id) return info.status
  return undefined
}

const stores = full ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)
const missing = (kind: 'sqlite' | 'postgres'): boolean => kind === 'postgres' && !findPostgres()

describe.for(stores)('a server that is killed in the middle of an answer: %s', (kind) => {
  test('its readers receive the whole answer once, from the server that takes it over', async ({ skip }) => {
    skip(missing(kind), 'PostgreSQL is not installed')
    const { start, serveHere, effects } = await world(kind)
    const first = await start('server', 'text')
    const near = { port: first.port }
    const chat = chatAt(near)
    const sent = chat.sendMessage({ text: 'go' })
    await expect.poll(() => chat.messages.at(-1)?.metadata?.sessionId).toBeTypeOf('string')
    const sessionId = chat.messages.at(-1)?.metadata?.sessionId ?? ''
    await expect.poll(() => shown(chat).at(-1)?.join('')).toBe(partial)
    // A server that was there earlier might have taken the message from the inbox first.
    const second = await (full ? start('server', 'never') : serveHere())
    const reconnecting = read(clientAt(near), sessionId)
    const following = read(clientAt(second), sessionId)
    const page = chatAt(second)
    const loaded = page.resumeStream()
    for (const { events } of [reconnecting, following]) await expect.poll(() => textOf(events)).toBe(partial)
    for (const one of [chat, page]) await expect.poll(() => shown(one).at(-1)?.join('')).toBe(partial)

    near.port = second.port
    await kill(first.child)
    await sent
    expect(chat.status).toBe('error')
    await chat.resumeStream()
    await Promise.all([reconnecting.over, following.over, loaded])
    expectWhole(reconnecting.events)
    expectWhole(following.events)
    const answer = ['I note.', words.join('')]
    expect(shown(chat)).toEqual([['go'], answer])
    expect(shown(page)).toEqual([answer])
    expect(chat.messages.at(-1)?.parts.filter(({ type }) => type === 'tool-note')).toMatchObject([
      { state: 'output-available' },
    ])
    expect(effectFile(effects).read()).toHaveLength(1)
  })

  test.runIf(full)('a stream of its response continues on another server', async ({ skip }) => {
    skip(missing(kind), 'PostgreSQL is not installed')
    const { start, serveHere, effects } = await world(kind)
    const first = await start('server', 'text')
    const body = JSON.stringify({ model: 'writer', input: 'go', stream: true })
    const headers = { 'content-type': 'application/json' }
    const asked = await through(first)('http://127.0.0.1/v1/responses', { method: 'POST', headers, body })
    const deltas = (events: readonly Record<string, unknown>[]): string =>
      events.map(({ type, delta }) => (type === 'response.output_text.delta' ? String(delta) : '')).join('')
    const cut = readResponse(asked)
    await expect.poll(() => deltas(cut.events)).toBe(partial)
    const { id } = z.object({ response: z.object({ id: z.string() }) }).parse(cut.events[0]).response
    const second = await serveHere()
    const open = await through(second)(`http://127.0.0.1/v1/responses/${id}?stream=true`)
    const { events, over } = readResponse(open)
    await kill(first.child)
    await over
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' })
    const items = z.object({
      response: z.object({
        output: z.array(
          z.looseObject({ type: z.string(), content: z.array(z.object({ text: z.string() })).optional() }),
        ),
      }),
    })
    const { output } = items.parse(events.at(-1)).response
    expect(output.flatMap(({ content = [] }) => content.map(({ text }) => text))).toEqual(['I note.', words.join('')])
    const added = events.filter(({ type }) => type === 'response.output_item.added')
    const ids = added.map(({ item }) => z.looseObject({ id: z.string() }).parse(item).id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(effectFile(effects).read()).toHaveLength(1)
  })
})

test.runIf(full)(
  'a page of AG-UI whose server is killed in the middle of an answer receives it whole from another server',
  async () => {
    const { start, serveHere, effects } = await world('sqlite')
    const first = await start('server', 'text')
    const near = { port: first.port }
    const page = new HttpAgent({
      url: 'http://127.0.0.1/ag-ui/writer',
      threadId: 'thread',
      fetch: async (url, init) => untilCut(await through(near)(url, init)),
    })
    page.addMessage({ id: 'go', role: 'user', content: 'go' })
    const cut = page.runAgent()
    const answer = (): string =>
      page.messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : [])).join('')
    await expect.poll(answer).toBe(partial)
    near.port = (await serveHere()).port
    await kill(first.child)
    await cut
    expect(answer()).toBe(partial)
    await page.runAgent()
    expect(page.messages).toMatchObject([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'I note.', toolCalls: [{ function: { name: 'note' } }] },
      { role: 'tool' },
      { role: 'assistant', content: words.join('') },
    ])
    expect(effectFile(effects).read()).toHaveLength(1)
  },
)

describe.for(stores)('a worker in a process of its own: %s', (kind) => {
  test.runIf(full)(
    'a reader of a server receives the text of a worker, and all of it once if the worker is killed',
    async ({ skip }) => {
      skip(missing(kind), 'PostgreSQL is not installed')
      const { start, serveHere, workHere, open, effects } = await world(kind)
      const store = open()
      const [server, worker] = await Promise.all([serveHere({ concurrency: 0 }), start('worker', 'text')])
      await queue(store, effects, 'unread')
      await queue(store, effects, 'read')
      for (const id of ['unread', 'read']) await expect.poll(() => statusOf(store, id)).toBe('running')
      const following = read(clientAt(server), 'read')
      await expect.poll(() => textOf(following.events)).toBe(partial)
      await kill(worker.child)
      if (full) await start('worker', 'never')
      else workHere()
      await following.over
      expectWhole(following.events)
      // No reader makes the server resume it.
      await expect.poll(() => statusOf(store, 'unread')).toBe('idle')
      expect(effectFile(effects).read()).toHaveLength(2)
    },
  )

  test.runIf(full)('on SIGTERM it ends what it runs, takes nothing else, and the process exits', async ({ skip }) => {
    skip(missing(kind), 'PostgreSQL is not installed')
    const { start, workHere, open, effects, gate } = await world(kind)
    const store = open()
    const { child, lines } = await start('worker', 'tool')
    await queue(store, effects, 'running')
    await expect.poll(() => effectFile(effects).read().length).toBe(1)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await expect.poll(() => lines).toContain('closing')
    await queue(store, effects, 'late')
    writeFileSync(gate, '')
    expect(await exited).toEqual([0, null])
    const entries: Entry[] = []
    for await (const entry of store.read('running')) entries.push(entry)
    expect(entries.at(-1)).toMatchObject({ type: 'run', op: 'ended', status: 'completed' })
    expect(entries.filter((entry) => entry.type === 'run' && entry.op === 'resumed')).toEqual([])
    expect(effectFile(effects).read()).toHaveLength(1)
    workHere()
    await expect.poll(() => effectFile(effects).read().length).toBe(2)
    await expect.poll(() => statusOf(store, 'late')).toBe('idle')
  })
})
