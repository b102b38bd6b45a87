import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { createClient } from '@provost/client'
import type { AgentEvent } from '@provost/core'
import type { PostgresServer } from '@provost/testing'
import { findPostgres, startPostgres } from '@provost/testing'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import { openServer } from './fixture/open-server.ts'

const script = fileURLToPath(new URL('fixture/server.ts', import.meta.url))
const running = new Set<ChildProcess>()

/** The current address of a server. The port changes at each start, because another process may use the old one. */
interface Address {
  port: string
}
interface Running extends Address {
  readonly child: ChildProcess
}

/** Starts a server process and waits until it listens. */
async function start(...args: readonly string[]): Promise<Running> {
  const child = spawn(process.execPath, ['--conditions=@provost/source', script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let said = ''
  child.stderr.on('data', (text: Buffer) => (said += text.toString()))
  const failed = once(child, 'close').then(() => Promise.reject(new Error(`The server did not start: ${said}`)))
  const [port] = await Promise.race([once(createInterface(child.stdout), 'line'), failed])
  return { port: String(port), child }
}

/** Starts the same server in this process. After a kill it shares only the store, in any process. */
async function startHere(...args: readonly string[]): Promise<Address> {
  const { port, close } = await openServer(args)
  onTestFinished(close)
  return { port: String(port) }
}

async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  running.delete(child)
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** Ends a server. Its address refuses connections until another server listens there. */
async function end(server: Running, signal?: NodeJS.Signals): Promise<void> {
  await kill(server.child, signal)
  server.port = '1'
}

afterEach(async () => {
  for (const child of running) await kill(child)
})

/** A client that retries for as long as a test may take. */
const at = (server: Address) =>
  createClient({
    baseUrl: 'http://127.0.0.1',
    fetch: (url, init) => fetch(Object.assign(new URL(url), { port: server.port }), init),
    reconnectMs: 85_000,
  })

/** The types of durable events, each of which must arrive once. */
const lasting = (events: readonly AgentEvent[]): readonly string[] =>
  events.flatMap(({ type, id }) => (id.includes('~') ? [] : [type]))
const textOf = (events: readonly AgentEvent[]): string =>
  events.map((event) => (event.type === 'text.delta' ? event.delta : '')).join('')

/** Starting processes takes seconds: both stores and all cases in full runs, otherwise one crash on SQLite. */
const full = process.env['PROVOST_TEST_FULL'] === '1'

function behaves(place: () => string, part: 'crash' | 'share'): void {
  test.runIf(full || part === 'crash')(
    'sends each remaining event once after a kill in the middle of a tool and a restart',
    async () => {
      const gate = join(folder, `gate-${++gates}`)
      const first = await start(place(), '0', gate)
      const stream = at(first).session().execute('go')
      const events: AgentEvent[] = []
      let again: Address | undefined
      for await (const event of stream) {
        events.push(event)
        if (event.type !== 'tool.execute.start' || again) continue
        await end(first)
        writeFileSync(gate, '')
        again = Object.assign(first, await (full ? start : startHere)(place(), '0', gate))
      }
      expect(await stream.result).toMatchObject({ status: 'completed', text: 'all done' })
      expect(lasting(events).filter((type) => type.startsWith('agent.') || type.startsWith('tool.'))).toEqual([
        'agent.start',
        'tool.execute.start',
        'agent.resumed',
        'tool.execute.start',
        'tool.execute.end',
        'agent.end',
      ])
      expect(new Set(events.map(({ id, type }) => `${type} ${id}`)).size).toBe(events.length)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
      expect(textOf(events)).toBe('I lookall done')
    },
  )

  test.runIf(full)('restarts a message after a kill in mid-text, and discards the first attempt', async () => {
    const gate = join(folder, `gate-${++gates}`)
    writeFileSync(gate, '')
    const first = await start(place(), '0', gate, 'text')
    const stream = at(first).session().execute('go')
    const events: AgentEvent[] = []
    let killed = false
    for await (const event of stream) {
      events.push(event)
      if (killed || textOf(events) !== 'I look') continue
      killed = true
      await end(first)
      Object.assign(first, await start(place(), '0', gate))
    }
    expect((await stream.result).text).toBe('all done')
    const resumed = events.findIndex(({ type }) => type === 'agent.resumed')
    expect(textOf(events.slice(0, resumed))).toBe('I look')
    expect(textOf(events.slice(resumed))).toBe('I lookall done')
    expect(lasting(events).filter((type) => type === 'agent.start' || type === 'agent.end')).toHaveLength(2)
  })

  test.runIf(full || part === 'share')('streams a run of another process over the same store', async () => {
    const gate = join(folder, `gate-${++gates}`)
    const [a, b] = await Promise.all([start(place(), '0', gate), start(place(), '0', gate)])
    const session = at(a).session()
    const stream = session.execute('go')
    const there: AgentEvent[] = []
    for await (const { type } of stream) if (type === 'tool.execute.start') break
    const far = at(b).session(session.id).follow()
    for await (const event of far) {
      there.push(event)
      if (event.type !== 'tool.execute.start') continue
      writeFileSync(gate, '')
    }
    expect((await stream.result).text).toBe('all done')
    expect(await far.result).toMatchObject({ status: 'completed', text: 'all done' })
    const whole = at(a).session(session.id).follow()
    const here: AgentEvent[] = []
    for await (const event of whole) here.push(event)
    expect(lasting(there)).toEqual(lasting(here))
    await expect(at(b).session(session.id).get()).resolves.toMatchObject({ status: 'idle' })
  })

  test.runIf(full)('leaves the run to the next process on SIGTERM', async () => {
    const gate = join(folder, `gate-${++gates}`)
    const first = await start(place(), '0', gate)
    const stream = at(first).session().execute('go')
    const types: string[] = []
    for await (const { type } of stream) {
      types.push(type)
      if (type !== 'tool.execute.start' || types.includes('agent.resumed')) continue
      await end(first, 'SIGTERM')
      writeFileSync(gate, '')
      Object.assign(first, await start(place(), '0', gate))
    }
    expect((await stream.result).text).toBe('all done')
    expect(types.filter((type) => type === 'agent.end')).toHaveLength(1)
  })
}

let folder = ''
let gates = 0
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'provost-server-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a server on SQLite', () => {
  behaves(() => join(folder, 'sessions.db'), 'crash')
})

// Starting PostgreSQL takes longer than all other tests here together.
describe.runIf(full && findPostgres() !== undefined)('a server on PostgreSQL (needs the server)', () => {
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())
  behaves(() => postgres.url, 'share')
})
