import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { mostTakeovers, ProvostError } from '@provost/core'
import { createServer } from '@provost/server'
import { exportSession, memoryStore, postgresStore, sqliteStore } from '@provost/sessions'
import { findPostgres, scriptedModel, startPostgres } from '@provost/testing'
import { builtProgram } from '@provost/testing/test/program'
import { tool } from '@provost/tools'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { ask, deskOf, framesIn, serverOf } from '../served.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

/** Runs a process until it dies or reports a quarantined session. A process that hangs is killed. */
async function live(...args: readonly string[]): Promise<string> {
  const script = new URL('doomed-process.ts', import.meta.url)
  // Only full runs start it often.
  const program = full ? await builtProgram(script) : fileURLToPath(script)
  const child = spawn(process.execPath, ['--conditions=@provost/source', program, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'exit')
  let said: string | undefined
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== 'hangs') said = line
    child.kill('SIGKILL')
  }
  await ended
  return said ?? 'died'
}

async function statusOf(store: SessionStore, id: string): Promise<string | undefined> {
  for await (const info of store.list()) if (info.id === id) return info.status
  return undefined
}

async function idle(store: SessionStore, id: string): Promise<void> {
  await expect.poll(() => statusOf(store, id)).toBe('idle')
}

type Case = readonly [store: 'sqlite' | 'postgres', how: 'exit' | 'hang' | 'kill' | 'open', by: 'server' | 'code']
/** The default is one case, full runs have all. The first case of each store has only processes there; in others the last takeovers are processes. */
const sampled: readonly Case[] = [['sqlite', 'hang', 'server']]
const cases: readonly Case[] = full
  ? [
      ...sampled,
      ['sqlite', 'exit', 'server'],
      ['sqlite', 'kill', 'code'],
      ['sqlite', 'open', 'server'],
      ['postgres', 'hang', 'server'],
      ['postgres', 'kill', 'server'],
      ['postgres', 'exit', 'code'],
      ['postgres', 'open', 'server'],
    ]
  : sampled

describe('a session that crashes each process that takes it over', () => {
  test.for(cases)(
    'is quarantined, and its neighbour completes: store %s, failure %s, takeover by %s',
    async ([kind, how, by], { skip }) => {
      skip(!full, 'in full runs')
      skip(kind === 'postgres' && !findPostgres(), 'PostgreSQL is not installed')
      const folder = mkdtempSync(join(tmpdir(), 'provost-quarantine-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const database = kind === 'postgres' ? await startPostgres() : undefined
      if (database) onTestFinished(() => database.stop())
      const where = database?.url ?? join(folder, 'sessions.db')
      // If opening is what crashes, the first writer dies by a signal.
      expect(await live(where, how === 'open' ? 'kill' : how, 'seed')).toBe('died')
      const isWhole = full && cases.find(([store]) => store === kind)?.[1] === how
      const before = isWhole ? 0 : mostTakeovers - 1
      const early = database ? postgresStore(where) : sqliteStore(where)
      for (let n = 1; n <= before; n++) {
        await expect.poll(async () => (await early.leaseState('poison')).holder).toBe('lapsed')
        await early.lease('poison', `writer ${n}`, 1)
      }
      await early.close()
      const ends: string[] = []
      while (!ends.includes('quarantined poison') && ends.length < mostTakeovers + 3)
        ends.push(await live(where, how, by))
      expect(ends).toEqual([...Array.from({ length: mostTakeovers - before }, () => 'died'), 'quarantined poison'])

      const store = database ? postgresStore(where) : sqliteStore(where)
      onTestFinished(() => store.close())
      // The neighbour completes here if each process died before it did.
      const work = tool({ name: 'work', effect: 'read', input: z.object({}), execute: () => 'worked' })
      const agents = [createAgent({ name: 'desk', model: scriptedModel([{ text: 'late' }]), tools: [work], store })]
      const authenticate = (request: Request): { id: string } => ({
        id: request.headers.get('authorization')?.slice('Bearer '.length) ?? '',
      })
      // A server that looks for abandoned runs does not take it over.
      const server = createServer({ agents, store, authenticate, pollMs: 10 })
      onTestFinished(() => server.close({ graceMs: 0 }))
      await idle(store, 'healthy')
      expect(await statusOf(store, 'poison')).toBe('quarantined')
      const path = '/api/agent/session/poison'
      expect(await (await ask(server, path, { as: 'mallory' })).json()).toMatchObject({ status: 'quarantined' })
      expect((await ask(server, path, { as: 'ann' })).status).toBe(404)
      expect(await (await ask(server, `${path}/export`, { as: 'mallory' })).text()).toContain('"type":"footer"')
      expect((await ask(server, `${path}/release`, { as: 'mallory', body: {} })).status).toBe(403)
      expect(await statusOf(store, 'poison')).toBe('quarantined')
      await expect(agents[0]?.resumeSession('poison')).rejects.toMatchObject({ code: 'session-quarantined' })
    },
  )
})

/** A quarantined session, in a store of this process. */
async function quarantined(principal = { id: 'ann' }): Promise<{ store: SessionStore; id: string }> {
  const store = memoryStore()
  const gate = Promise.withResolvers<string>()
  const wait = tool({ name: 'wait', effect: 'read', input: z.object({}), execute: () => gate.promise })
  const steps = [{ toolCalls: [{ name: 'wait', input: {} }] }, { text: 'done' }]
  const dead = new AbortController()
  const leaving: SessionStore = {
    ...store,
    lease: async (log, owner, ttlMs, terms) => store.lease(log, owner, Math.min(ttlMs, 1), terms),
    append: async (...given) => (dead.signal.aborted ? new Promise(() => {}) : store.append(...given)),
    release: async (...given) => (dead.signal.aborted ? undefined : store.release(...given)),
  }
  const agent = createAgent({ name: 'desk', model: scriptedModel(steps), tools: [wait], store: leaving })
  const session = await agent.createSession({ principal })
  session.send('go')
  await expect.poll(() => statusOf(store, session.id)).toBe('running')
  dead.abort()
  for (let n = 0; n <= mostTakeovers; n++) {
    await expect.poll(async () => (await store.leaseState(session.id)).holder).toBe('lapsed')
    await store.lease(session.id, `writer ${n}`, 1).catch(() => {})
    if ((await store.leaseState(session.id)).quarantinedAt !== undefined) break
  }
  expect(await statusOf(store, session.id)).toBe('quarantined')
  return { store, id: session.id }
}

test('a quarantined session can be listed, read and exported; other operations fail with session-quarantined', async () => {
  const { store, id } = await quarantined()
  const server = serverOf([{ text: 'never' }], { store, pollMs: 5 })
  const list = await (await ask(server, '/api/agent/sessions?status=quarantined')).json()
  expect(list.sessions).toMatchObject([{ id, status: 'quarantined' }])
  const { status, messages } = await (await ask(server, `/api/agent/session/${id}`)).json()
  expect([status, messages[0]]).toMatchObject([
    'quarantined',
    { role: 'user', content: [{ type: 'text', text: 'go' }] },
  ])
  expect((await ask(server, `/api/agent/session/${id}/export`)).status).toBe(200)
  const asked: readonly (readonly [string, object])[] = [
    ['/api/agent/execute', { sessionId: id, input: 'x' }],
    [`/api/agent/session/${id}/steer`, { input: 'x' }],
    [`/api/agent/session/${id}/follow-up`, { input: 'x' }],
    [`/api/agent/session/${id}/abort`, {}],
  ]
  for (const [path, body] of asked) {
    const response = await ask(server, path, { body })
    expect([path, response.status, (await response.json()).error.code]).toEqual([path, 409, 'session-quarantined'])
    // For other principals the session is unknown.
    expect((await ask(server, path, { body, as: 'bob' })).status).toBe(404)
  }
  expect((await ask(server, `/api/agent/session/${id}/events`)).status).toBe(409)
  const agent = deskOf([], store)
  await expect(agent.resumeSession(id)).rejects.toMatchObject({ code: 'session-quarantined' })
  const lines: string[] = []
  for await (const line of exportSession(store, id)) lines.push(line)
  expect(lines.length).toBeGreaterThan(3)
})

test('a stream of a session that becomes quarantined ends, and a reconnect fails with session-quarantined', async () => {
  const { store, id } = await quarantined()
  await store.releaseQuarantine(id)
  const told: unknown[] = []
  let gone = false
  // Until the quarantine, another process holds the lease.
  const elsewhere: SessionStore = {
    ...store,
    lease: async (...given) => (gone ? store.lease(...given) : 'busy'),
    leaseState: async (log) => (gone ? store.leaseState(log) : { holder: 'alive', takeovers: 0 }),
  }
  const server = serverOf([], { store: elsewhere, pollMs: 60_000, onError: (error) => told.push(error) })
  const response = await ask(server, `/api/agent/session/${id}/events`)
  const read = response.text()
  for (let n = 0; n <= mostTakeovers + 1; n++) {
    await store.lease(id, `writer ${n}`, 1).catch(() => {})
    await expect.poll(async () => (await store.leaseState(id)).holder, { interval: 1 }).not.toBe('alive')
  }
  gone = true
  expect(await read).not.toContain('execute_complete')
  const again = await ask(server, `/api/agent/session/${id}/events`)
  expect([again.status, (await again.json()).error.code]).toEqual([409, 'session-quarantined'])
  expect(told).toContainEqual(expect.objectContaining({ code: 'session-quarantined' }))
  await server.close()
})

test('an operator finds a quarantined session in the inbox and releases it if authorize permits it; its run resumes', async () => {
  const { store, id } = await quarantined()
  const release = `/api/agent/session/${id}/release`
  const closed = serverOf([], { store, pollMs: 60_000, authorize: () => true })
  expect((await ask(closed, release, { body: {} })).status, 'no server has operators by default').toBe(403)
  const asked: unknown[] = []
  const wait = tool({ name: 'wait', effect: 'read', input: z.object({}), execute: () => 'waited' })
  const agents = [createAgent({ name: 'desk', model: scriptedModel([{ text: 'done' }]), tools: [wait], store })]
  const server = serverOf([], {
    agents,
    store,
    pollMs: 5,
    operator: ({ id: who }) => who !== 'ann',
    authorize: ({ id: who }, action) => (asked.push(action), action.kind !== 'release' || who === 'operator'),
  })
  expect((await ask(server, release, { body: {} })).status).toBe(403)
  expect(asked).toEqual([])
  expect((await ask(server, release, { body: {}, as: 'clerk' })).status).toBe(403)
  expect(asked).toEqual([{ kind: 'release', sessionId: id }])
  const inboxOf = async (as: string): Promise<unknown> => (await ask(server, '/api/waits', { as })).json()
  expect(await inboxOf('operator')).toMatchObject({ waits: [{ kind: 'quarantined', sessionId: id, requester: 'ann' }] })
  expect(await inboxOf('clerk'), 'a reader who may not release it does not see it').toEqual({ waits: [] })
  expect((await ask(server, '/api/agent/session/none/release', { body: {}, as: 'operator' })).status).toBe(404)
  const released = await ask(server, release, { body: {}, as: 'operator' })
  expect([released.status, await released.json()]).toEqual([200, { sessionId: id, released: true }])
  expect(await (await ask(server, release, { body: {}, as: 'operator' })).json()).toMatchObject({ released: false })
  await idle(store, id)
  const frames = framesIn(await (await ask(server, `/api/agent/session/${id}/events`)).text())
  expect(frames.at(-1)?.data).toMatchObject({ status: 'completed', text: 'done' })
  await server.close()
})

test('without authenticate any local caller can release a session; in code, agent.releaseQuarantine does', async () => {
  const one = await quarantined({ id: 'local' })
  const server = createServer({ agents: [deskOf([], one.store)], store: one.store, pollMs: 60_000 })
  const response = await ask(server, `/api/agent/session/${one.id}/release`, { body: {} })
  expect(await response.json()).toEqual({ sessionId: one.id, released: true })
  const two = await quarantined()
  const agent = deskOf([], two.store)
  expect([await agent.releaseQuarantine(two.id), await agent.releaseQuarantine(two.id)]).toEqual([true, false])
  await expect(agent.resumeSession(two.id)).resolves.toMatchObject({ id: two.id })
})

test('a run that cannot start is reported once, counted in the store, and not retried at once', async () => {
  const { store, id } = await quarantined()
  await store.releaseQuarantine(id)
  let looks = 0
  const watched: SessionStore = {
    ...store,
    async claimDue(claim) {
      looks++
      return (await store.claimDue?.(claim)) ?? []
    },
  }
  const told: unknown[] = []
  const server = serverOf([], {
    store: watched,
    pollMs: 1,
    context: () => Promise.reject(new Error('there is no such user')),
    onError: (error, { sessionId }) => told.push([String(error), sessionId]),
  })
  await expect.poll(() => looks).toBeGreaterThan(3)
  expect(told).toEqual([['Error: there is no such user', id]])
  await expect.poll(() => store.leaseState(id)).toMatchObject({ holder: 'lapsed', takeovers: 0 })
  await server.close()
})

test('a retryable failure is reported and not counted', async () => {
  const { store, id } = await quarantined()
  await store.releaseQuarantine(id)
  const told: unknown[] = []
  const later = new ProvostError('provider-away', 'Away.', { retryable: true })
  const server = serverOf([], {
    store,
    pollMs: 1,
    context: () => Promise.reject(later),
    onError: (error) => told.push(error),
  })
  await expect.poll(() => told).toEqual([later])
  expect(await store.leaseState(id)).toEqual({ holder: 'none', takeovers: 0 })
  await server.close()
})

test('a lease that a closing server releases is not counted as a takeover', async () => {
  const store = memoryStore()
  const gate = Promise.withResolvers<string>()
  const wait = tool({ name: 'wait', effect: 'read', input: z.object({}), execute: () => gate.promise })
  const steps = [{ toolCalls: [{ name: 'wait', input: {} }] }, { text: 'done' }]
  const serverWith = (): ReturnType<typeof createServer> =>
    createServer({
      agents: [createAgent({ name: 'desk', model: scriptedModel(steps), tools: [wait], store })],
      store,
      pollMs: 5,
    })
  let server = serverWith()
  const response = await ask(server, '/api/agent/execute', { body: { input: 'x' } })
  const id = response.headers.get('x-session-id') ?? ''
  for (let n = 0; n < mostTakeovers + 2; n++) {
    await expect.poll(async () => (await store.leaseState(id)).holder).toBe('alive')
    await server.close({ graceMs: 0 })
    expect(await store.leaseState(id)).toEqual({ holder: 'none', takeovers: 0 })
    server = serverWith()
  }
  await response.body?.cancel()
  await server.close({ graceMs: 0 })
})
