import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { SessionStore, Tool } from '@provost/core'
import { textOf } from '@provost/core'
import { restateEngine } from '@provost/durable'
import { createWorker } from '@provost/server'
import type { Worker } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { findRestate, freePorts, scriptedModel, startRestate } from '@provost/testing'
import type { RestateServer } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const binary = findRestate(new URL('../../../bench/restate', import.meta.url).pathname)
const canary = 'canary4711'

let restate: RestateServer | undefined
beforeAll(async () => {
  if (full && binary !== undefined) restate = await startRestate(binary)
})
afterAll(() => restate?.stop())

/** A store that several processes share: leases expire. */
function shared(): SessionStore {
  const { ephemeral: _, ...store } = memoryStore()
  return store
}

const refund = (expiresInMs?: number) =>
  tool({
    name: 'refund',
    input: z.object({ amount: z.number() }),
    needsApproval: () => ({ reason: canary, ...(expiresInMs !== undefined && { expiresInMs }) }),
    execute: () => 'refunded',
  })

function desk(store: SessionStore, expiresInMs?: number, own?: Tool): Agent {
  const model = scriptedModel(
    [
      ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? { text: 'Done.' }
          : { toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
    ],
    { after: 'repeat-last' },
  )
  return createAgent({ name: 'desk', model, store, tools: [own ?? refund(expiresInMs)] })
}

async function workerOn(
  { ingress, admin }: RestateServer,
  agent: Agent,
  store: SessionStore,
  service: string,
): Promise<Worker> {
  const [port = 0] = await freePorts(1)
  const engine = restateEngine({ ingress, admin, port, service, onFault: () => {} })
  // The index of the store would find the sessions too: it does not look within the test.
  const worker = createWorker({ agents: [agent], store, engine, pollMs: 3_600_000 })
  onTestFinished(() => worker.close({ graceMs: 0 }))
  await expect.poll(async () => (await fetch(`${admin}/services/${service}`)).status).toBe(200)
  return worker
}

async function waiting(agent: Agent, id: string): Promise<string> {
  const session = await agent.createSession({ id, principal: { id: 'ann' } })
  const { pending } = await session.stream(`Refund ${canary}.`).result
  await session.close()
  return pending.approvals[0]?.id ?? ''
}

async function lastText(store: SessionStore, id: string): Promise<string | undefined> {
  let text: string | undefined
  for await (const entry of store.read(id)) if (entry.type === 'message') text = textOf(entry.message)
  return text
}

async function statusOf(store: SessionStore, id: string): Promise<string | undefined> {
  for await (const info of store.list()) if (info.id === id) return info.status
  return undefined
}

describe('restateEngine', () => {
  test('rejects options that cannot work, or that open runs to any machine', () => {
    const ingress = 'http://127.0.0.1:8080'
    const invalid = expect.objectContaining({ code: 'invalid-option' })
    expect(() => restateEngine({ ingress: 'nowhere' })).toThrow(invalid)
    expect(() => restateEngine({ ingress, host: '0.0.0.0' })).toThrow(invalid)
    expect(() => restateEngine({ ingress, port: 70_000 })).toThrow(invalid)
    expect(() => restateEngine({ ingress, limits: [{ tenant: 'a', concurrency: 1 }] })).toThrow(invalid)
    // @ts-expect-error -- as JavaScript gives it
    expect(() => restateEngine({ ingress, ingres: 1 })).toThrow(expect.objectContaining({ code: 'unknown-option' }))
    expect(restateEngine({ ingress, host: '0.0.0.0', identityKeys: ['publickeyv1_x'] }).name).toBe('restate')
  })

  test('reports a server that is away, as a failure to retry', async () => {
    const [port = 0] = await freePorts(1)
    const engine = restateEngine({ ingress: `http://127.0.0.1:${port}` })
    await expect(engine.wake('s')).rejects.toMatchObject({ code: 'engine-unreachable', retryable: true })
  })

  test('wakes a session that waits, over the server, and stores nothing of its content there', async (ctx) => {
    if (!restate) return ctx.skip('in full runs, with the server of bench/restate')
    const store = shared()
    const agent = desk(store)
    const token = await waiting(agent, 's1')
    await workerOn(restate, agent, store, 'wakes')
    await store.deliver('s1', token, { decision: 'approve' }, 'ann')
    expect(await statusOf(store, 's1')).toBe('suspended')
    const engine = restateEngine({ ingress: restate.ingress, service: 'wakes' })
    for (let n = 0; n < 10; n++) await engine.wake('s1')
    await engine.wake('no such session')
    await expect.poll(() => statusOf(store, 's1')).toBe('idle')
    const state = await fetch(`${restate.admin}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: 'select * from sys_invocation' }),
    })
    const rows = await state.text()
    expect([rows.includes('wakes'), rows.includes(canary)]).toEqual([true, false])
  })

  test('ends a wait at its deadline by a timer of the server', async (ctx) => {
    if (!restate) return ctx.skip('in full runs, with the server of bench/restate')
    const store = shared()
    const agent = desk(store, 1_500)
    await workerOn(restate, agent, store, 'timers')
    const engine = restateEngine({ ingress: restate.ingress, service: 'timers' })
    const token = await waiting(agent, 's2')
    expect(token).not.toBe('')
    await engine.wake('s2', { at: Date.now() + 1_600, key: 's2@deadline' })
    await engine.wake('s2', { at: Date.now() + 1_600, key: 's2@deadline' })
    await expect.poll(() => statusOf(store, 's2')).toBe('idle')
  })

  test('survives a kill of the server: what was queued is advanced after its restart', async (ctx) => {
    if (!restate) return ctx.skip('in full runs, with the server of bench/restate')
    const store = shared()
    const agent = desk(store)
    const token = await waiting(agent, 's3')
    const engine = restateEngine({ ingress: restate.ingress, service: 'kills' })
    const worker = await workerOn(restate, agent, store, 'kills')
    await store.deliver('s3', token, { decision: 'approve' }, 'ann')
    await engine.wake('s3', { at: Date.now() + 1_000 })
    await restate.kill()
    await restate.restart()
    await expect.poll(() => statusOf(store, 's3')).toBe('idle')
    expect(worker.running).toBe(0)
  })

  test('drains: the process ends what it began and takes nothing more', async (ctx) => {
    if (!restate) return ctx.skip('in full runs, with the server of bench/restate')
    const store = shared()
    const agent = desk(store)
    const token = await waiting(agent, 's4')
    const engine = restateEngine({ ingress: restate.ingress, service: 'drains' })
    const first = await workerOn(restate, agent, store, 'drains')
    await first.close({ graceMs: 2_000 })
    await store.deliver('s4', token, { decision: 'approve' }, 'ann')
    await engine.wake('s4')
    expect(await statusOf(store, 's4')).toBe('suspended')
    // Another deployment takes over.
    await workerOn(restate, agent, store, 'drains')
    await engine.wake('s4', { key: 'again' })
    await expect.poll(() => statusOf(store, 's4')).toBe('idle')
  })
  test('limits the sessions of a tenant that run at once, and not those of others', async (ctx) => {
    if (!restate || binary === undefined) return ctx.skip('in full runs, with the server of bench/restate')
    const server = await startRestate(binary, { RESTATE_EXPERIMENTAL_ENABLE_VQUEUES: 'true' })
    onTestFinished(() => server.stop())
    const active = new Map<string, number>()
    const peaks = new Map<string, number>()
    const work = tool({
      name: 'refund',
      input: z.object({ amount: z.number() }),
      async execute(_, { session }) {
        const [tenant = ''] = session.id.split('-')
        active.set(tenant, (active.get(tenant) ?? 0) + 1)
        peaks.set(tenant, Math.max(peaks.get(tenant) ?? 0, active.get(tenant) ?? 0))
        await new Promise((resolve) => setTimeout(resolve, 150))
        active.set(tenant, (active.get(tenant) ?? 0) - 1)
        return 'refunded'
      },
    })
    const store = shared()
    const agent = desk(store, undefined, work)
    const ids = ['ann', 'bob'].flatMap((tenant) => Array.from({ length: 8 }, (_, n) => `${tenant}-${n}`))
    const [port = 0] = await freePorts(1)
    const limits = [{ tenant: 'ann', concurrency: 2 }]
    const engine = restateEngine({ ingress: server.ingress, admin: server.admin, port, limits })
    const worker = createWorker({ agents: [agent], store, engine, pollMs: 3_600_000 })
    onTestFinished(() => worker.close({ graceMs: 0 }))
    await expect.poll(async () => (await fetch(`${server.admin}/services/provost-limited`)).status).toBe(200)
    // Only now: what is due at its start is advanced by the worker itself, as the server does not know it yet.
    for (const id of ids) {
      const session = await agent.createSession({ id, principal: { id: id.slice(0, 3) } })
      await session.close()
      await store.deliver(id, 'send/1', { mode: 'queue', input: 'Refund.' }, 'ann')
    }
    // The server has no way to ask whether its partitions know a rule yet.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    for (const id of ids) await engine.wake(id, { tenant: id.slice(0, 3) })
    await expect
      .poll(async () => (await Promise.all(ids.map((id) => lastText(store, id)))).every((text) => text === 'Done.'))
      .toBe(true)
    expect(peaks.get('ann')).toBeLessThanOrEqual(2)
    expect(peaks.get('bob')).toBeGreaterThan(2)
  })
})
