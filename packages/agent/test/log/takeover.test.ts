import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { defineExtension, mostTakeovers } from '@provost/core'
import { memoryStore, sqliteStore } from '@provost/sessions'
import type { ScriptedStep } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

function sqlite(): SessionStore {
  const folder = mkdtempSync(join(tmpdir(), 'provost-takeover-'))
  const store = sqliteStore(join(folder, 's.db'))
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return store
}

/** A store whose writer dies in the middle: nothing of it is written or released any more, and its lease lapses. */
function dying(store: SessionStore): SessionStore & { die(): void } {
  let dead = false
  const never = new Promise<never>(() => {})
  return {
    ...store,
    lease: async (log, owner, ttlMs, terms) => (dead ? never : store.lease(log, owner, Math.min(ttlMs, 1), terms)),
    append: async (...given) => (dead ? never : store.append(...given)),
    release: async (...given) => (dead ? undefined : store.release(...given)),
    die: () => void (dead = true),
  }
}

const call: ScriptedStep = { toolCalls: [{ name: 'work', input: { task: 'go' } }] }

/** A tool that says that it was reached, and ends no more. */
function hanging() {
  const reached = Promise.withResolvers<void>()
  const hang = tool({
    name: 'work',
    effect: 'read',
    input: z.object({}),
    execute: () => (reached.resolve(), new Promise<string>(() => {})),
  })
  return { hang, reached: reached.promise }
}

/** Leaves the session in its first call; `more` writers take it over after that and die at once. */
async function abandon(store: SessionStore, id: string, more: number): Promise<void> {
  const place = dying(store)
  const { hang, reached } = hanging()
  const agent = createAgent({ name: 'desk', model: scriptedModel([call]), tools: [hang], store: place })
  const session = await agent.createSession({ id })
  session.send('go')
  await reached
  place.die()
  const lapsed = async (): Promise<void> =>
    expect.poll(async () => (await store.leaseState(id)).holder, { interval: 2 }).toBe('lapsed')
  await lapsed()
  for (let n = 0; n < more; n++) {
    await store.lease(id, `writer ${n}`, 1)
    await lapsed()
  }
}

const stores = [
  ['memory', memoryStore],
  ['sqlite', sqlite],
] as const

test.each(stores)('a run that was taken over and ends, in %s, leaves no takeover behind', async (_, make) => {
  const store = make()
  await abandon(store, 's', 3)
  const seen: number[] = []
  const work = tool({
    name: 'work',
    effect: 'read',
    input: z.object({}),
    execute: async () => `${seen.push((await store.leaseState('s')).takeovers)}`,
  })
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([call, call, { text: 'done' }]),
    tools: [work],
    store,
  })
  const session = await agent.resumeSession('s')
  expect(await session.resume().result).toMatchObject({ status: 'completed', text: 'done' })
  // Counted before anything is read; forgotten when the model has answered, so that its step is complete.
  expect(seen).toEqual([4, 0, 0])
  expect(await store.leaseState('s')).toEqual({ holder: 'none', takeovers: 0 })
})

test.each(stores)(
  'a takeover beyond the limit, in %s, fails with session-quarantined before the log is read',
  async (_, make) => {
    const store = make()
    await abandon(store, 's', mostTakeovers)
    let reads = 0
    const counted: SessionStore = { ...store, read: (...given) => (reads++, store.read(...given)) }
    const agent = createAgent({ name: 'desk', model: scriptedModel([]), store: counted })
    for (let n = 0; n < 2; n++) {
      await expect(agent.resumeSession('s')).rejects.toMatchObject({ code: 'session-quarantined' })
    }
    expect(await agent.run('x', { sessionId: 's' })).toMatchObject({
      status: 'failed',
      error: { code: 'session-quarantined' },
    })
    expect(reads).toBe(0)
    await expect(agent.createSession({ id: 's' })).rejects.toMatchObject({ code: 'session-quarantined' })
  },
)

test('a run whose reading fails each time is counted each time', async () => {
  const store = sqlite()
  await abandon(store, 's', 0)
  const poisoned: SessionStore = { ...store, read: () => expect.fail('a log that brings down its reader') }
  const dead = dying(poisoned)
  const agent = createAgent({ name: 'desk', model: scriptedModel([]), store: { ...dead, release: async () => {} } })
  for (let n = 1; n <= mostTakeovers; n++) {
    await expect(agent.resumeSession('s')).rejects.toThrow('brings down')
    await expect.poll(async () => (await store.leaseState('s')).holder, { interval: 2 }).toBe('lapsed')
    expect((await store.leaseState('s')).takeovers).toBe(n)
  }
  await expect(agent.resumeSession('s')).rejects.toMatchObject({ code: 'session-quarantined' })
})

test('an abort whose writer died before it had recorded the end aborts the run in the next process', async () => {
  const store = sqlite()
  const place = dying(store)
  const { hang, reached } = hanging()
  const closed = Promise.withResolvers<void>()
  const dies = defineExtension({ name: 'end', hooks: { 'run.end': () => (place.die(), closed.resolve()) } })
  const first = createAgent({
    name: 'desk',
    model: scriptedModel([call]),
    tools: [hang],
    extensions: [dies],
    store: place,
  })
  const session = await first.createSession({ id: 's' })
  session.send('go')
  await reached
  void session.abort({ graceMs: 1 })
  await closed.promise
  await expect.poll(async () => (await store.leaseState('s')).holder, { interval: 2 }).toBe('lapsed')
  const ends: string[] = []
  const sees = defineExtension({ name: 'end', hooks: { 'run.end': ({ status }) => void ends.push(status) } })
  const model = scriptedModel([{ text: 'done' }])
  const next = createAgent({ name: 'desk', model, tools: [hang], extensions: [sees], store })
  const resumed = await next.resumeSession('s')
  expect(await resumed.resume().result).toMatchObject({ status: 'aborted' })
  expect(ends).toEqual(['aborted'])
  // Resumed on purpose, an aborted run goes on.
  expect(await resumed.resume().result).toMatchObject({ status: 'completed', text: 'done' })
  await resumed.close()
})

test('a step of a child forgets the takeovers of its session', async () => {
  const store = sqlite()
  await abandon(store, 's', 2)
  const seen: number[] = []
  const look = tool({
    name: 'look',
    effect: 'read',
    input: z.object({}),
    execute: async () => `${seen.push((await store.leaseState('s')).takeovers)}`,
  })
  const childModel = scriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'child' }])
  const child = createAgent({ name: 'child', model: childModel, tools: [look], store })
  const work = child.toTool({ name: 'work', description: 'Works.' })
  const agent = createAgent({ name: 'desk', model: scriptedModel([{ text: 'done' }]), tools: [work], store })
  const session = await agent.resumeSession('s')
  expect((await store.leaseState('s')).takeovers).toBe(3)
  const result = await session.resume().result
  expect([result.status, seen]).toEqual(['completed', [0]])
})
