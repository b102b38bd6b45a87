import type { Agent, AgentOptions } from '@provost/agent'
import { createAgent } from '@provost/agent'
import type { DurableEngine, Rest, SessionStore, WakeOptions } from '@provost/core'
import type { Worker, WorkerOptions } from '@provost/server'
import { createServer, createWorker } from '@provost/server'
import { memoryStore, sqliteStore } from '@provost/sessions'
import type { ScriptedEntry } from '@provost/testing'
import { manualClock, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { ask, framesIn, refund } from '../served.ts'
import { newFolder } from './folder.ts'

/** A store that several processes share: leases expire. */
function shared(): SessionStore {
  const { ephemeral: _, ...store } = memoryStore()
  return store
}

function agentOf(store: SessionStore, steps: readonly ScriptedEntry[], more: Partial<AgentOptions> = {}): Agent {
  const model = scriptedModel([...steps], { after: 'repeat-last' })
  return createAgent({ name: 'desk', model, tools: [refund], ...more, output: undefined, store })
}

function workerOf(agent: Agent, store: SessionStore, more: Partial<WorkerOptions> = {}): Worker {
  const worker = createWorker({ agents: [agent], store, pollMs: 5, ...more })
  onTestFinished(() => worker.close({ graceMs: 0 }))
  return worker
}

async function statusOf(store: SessionStore, id: string): Promise<string | undefined> {
  for await (const info of store.list()) if (info.id === id) return info.status
  return undefined
}

const refunds: readonly ScriptedEntry[] = [
  ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? { text: 'Done.' }
      : { toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
]

/** A refund whose approval expires. */
function refundWithin(expiresInMs: number) {
  return tool({
    name: 'refund',
    input: z.object({ amount: z.number() }),
    needsApproval: () => ({ reason: 'money', expiresInMs }),
    execute: () => 'refunded',
  })
}

/** Starts a run that waits for approval, in a process that then is gone. */
async function waiting(store: SessionStore, id: string): Promise<string> {
  const session = await agentOf(store, refunds).createSession({ id, principal: { id: 'ann' } })
  const { pending } = await session.stream('Refund.').result
  await session.close()
  return pending.approvals[0]?.id ?? ''
}

test('a worker continues a run whose answer any process delivered', async () => {
  const store = shared()
  const token = await waiting(store, 's')
  workerOf(agentOf(store, refunds), store)
  await store.deliver('s', token, { decision: 'approve' }, 'ann')
  await expect.poll(() => statusOf(store, 's')).toBe('idle')
})

test('a worker starts a run with input that only the inbox has', async () => {
  const store = shared()
  const agent = agentOf(store, [{ text: 'Hello.' }])
  await (await agent.createSession({ id: 's' })).close()
  await store.deliver('s', 'send/1', { mode: 'queue', input: 'Hi' }, 'ann')
  workerOf(agent, store)
  await expect.poll(async () => (await agent.resumeSession('s')).messages.length).toBe(2)
})

test('a worker ends a wait at its deadline, when no other process is left', async () => {
  const store = shared()
  const late = refundWithin(30)
  const agent = agentOf(store, refunds, { tools: [late] })
  const session = await agent.createSession({ id: 's' })
  await session.stream('Refund.').result
  await session.close()
  workerOf(agentOf(store, refunds, { tools: [late] }), store)
  await expect.poll(() => statusOf(store, 's')).toBe('idle')
})

/** Sessions of a principal with unread input, which their agent answers after a gate opens. */
async function queued(store: SessionStore, agent: Agent, principal: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await (await agent.createSession({ id, principal: { id: principal } })).close()
    await store.deliver(id, 'send/1', { mode: 'queue', input: id }, principal)
  }
}

test('a worker runs as many sessions as it has room for, and the next one when a place is free', async () => {
  const store = shared()
  const gates: (() => void)[] = []
  let most = 0
  let running = 0
  const work = tool({
    name: 'work',
    effect: 'read',
    input: z.object({}),
    async execute() {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => gates.push(resolve))
      running--
      return 'worked'
    },
  })
  const agent = agentOf(
    store,
    [({ messages }) => (messages.length > 1 ? { text: 'Done.' } : { toolCalls: [{ name: 'work', input: {} }] })],
    { tools: [work] },
  )
  const ids = ['a', 'b', 'c', 'd', 'e']
  await queued(store, agent, 'ann', ids)
  const worker = workerOf(agent, store, { concurrency: 2 })
  for (const [n] of ids.entries()) {
    // Both places are taken before one of them becomes free.
    await expect.poll(() => gates.length).toBe(Math.min(n + 2, ids.length))
    expect([worker.running + worker.room, most <= 2]).toEqual([2, true])
    gates[n]?.()
  }
  await expect.poll(() => running).toBe(0)
  expect(most).toBe(2)
})

test('a principal that has all places leaves one to another at its next step', async () => {
  const store = shared()
  const turns: string[] = []
  const work = tool({
    name: 'work',
    effect: 'read',
    input: z.object({}),
    execute: async () => void (await new Promise((resolve) => setTimeout(resolve, 2))),
  })
  let isOver = false
  const agent = agentOf(
    store,
    [
      ({ messages }) => {
        const who = JSON.stringify(messages[0]).includes('bob') ? 'bob' : 'ann'
        turns.push(who)
        return who === 'bob' || isOver ? { text: 'Done.' } : { toolCalls: [{ name: 'work', input: {} }] }
      },
    ],
    { tools: [work], maxSteps: 10_000 },
  )
  await queued(store, agent, 'ann', ['ann-1', 'ann-2'])
  workerOf(agent, store, { concurrency: 2 })
  await expect.poll(() => turns.length).toBeGreaterThan(4)
  await queued(store, agent, 'bob', ['bob-1'])
  await expect.poll(() => turns.includes('bob')).toBe(true)
  isOver = true
  for (const id of ['ann-1', 'ann-2', 'bob-1']) await expect.poll(() => statusOf(store, id)).toBe('idle')
})

test('a closing worker leaves its run to another, which continues it', async () => {
  const store = shared()
  const entered = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const work = tool({
    name: 'work',
    effect: 'read',
    input: z.object({}),
    execute: async () => (entered.resolve(), await opened.promise, 'worked'),
  })
  const steps: readonly ScriptedEntry[] = [
    ({ messages }) => (messages.length > 1 ? { text: 'Done.' } : { toolCalls: [{ name: 'work', input: {} }] }),
  ]
  const agent = agentOf(store, steps, { tools: [work] })
  await queued(store, agent, 'ann', ['s'])
  const first = workerOf(agent, store)
  await entered.promise
  const closed = first.close({ graceMs: 0 })
  expect(first.room).toBe(0)
  await closed
  expect(await statusOf(store, 's')).toBe('running')
  opened.resolve()
  workerOf(agent, store)
  await expect.poll(() => statusOf(store, 's')).toBe('idle')
  expect((await store.leaseState('s')).takeovers).toBe(0)
})

test('a worker that closes without a limit of time waits for the call of its run', async () => {
  const store = shared()
  const entered = Promise.withResolvers<AbortSignal>()
  const opened = Promise.withResolvers<void>()
  const work = tool({
    name: 'work',
    effect: 'read',
    input: z.object({}),
    execute: async (_, { signal }) => (entered.resolve(signal), await opened.promise, 'worked'),
  })
  const steps: readonly ScriptedEntry[] = [{ toolCalls: [{ name: 'work', input: {} }] }]
  const agent = agentOf(store, steps, { tools: [work] })
  await queued(store, agent, 'ann', ['s'])
  const worker = workerOf(agent, store)
  const signal = await entered.promise
  const ended: string[] = []
  const closed = worker.close({ graceMs: Number.POSITIVE_INFINITY }).then(() => ended.push('closed'))
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect([signal.aborted, ended]).toEqual([false, []])
  opened.resolve()
  await closed
})

test('a reader of a server receives the text that a worker writes, and the end of its run', async () => {
  const { path, remove } = newFolder()
  onTestFinished(remove)
  const stores = [sqliteStore(`${path}/s.db`, { pollMs: 5 }), sqliteStore(`${path}/s.db`, { pollMs: 5 })] as const
  const [mine, workers] = stores
  const steps: readonly ScriptedEntry[] = [{ text: Array.from({ length: 8 }, (_, n) => `w${n} `), delayMs: 100 }]
  const server = createServer({ agents: [agentOf(mine, steps)], store: mine, concurrency: 0 })
  await queued(mine, agentOf(mine, steps), 'local', ['s'])
  workerOf(agentOf(workers, steps), workers)
  await expect.poll(() => statusOf(mine, 's'), { interval: 5 }).toBe('running')
  const response = await ask(server, '/api/agent/session/s/events')
  const frames = framesIn(await response.text())
  const text = frames.flatMap(({ data }) => (data.type === 'text.delta' ? [data.delta] : [])).join('')
  expect(text.trim()).toBe('w0 w1 w2 w3 w4 w5 w6 w7')
  expect(frames.at(-1)?.data).toMatchObject({ type: 'execute_complete', status: 'completed' })
  await server.close()
  for (const store of stores) await store.close()
})

/** An engine that keeps what it is asked, and is away while `isAway`. */
function recordingEngine() {
  const wakes: (readonly [string, WakeOptions | undefined])[] = []
  let served: ((id: string) => Promise<Rest>) | undefined
  const state = { isAway: false }
  const engine: DurableEngine = {
    name: 'recording',
    async wake(id, options) {
      if (state.isAway) throw new Error('away')
      wakes.push([id, options])
    },
    async serve(advance) {
      served = advance
      return { drain: async () => void (served = undefined) }
    },
  }
  return { engine, wakes, state, advance: async (id: string) => served?.(id) }
}

test('an engine is woken by deliveries and for deadlines, and finds what the store has forgotten to tell it', async () => {
  const store = shared()
  const late = refundWithin(60_000)
  const agent = agentOf(store, refunds, { tools: [late] })
  const { engine, wakes, state, advance } = recordingEngine()
  await queued(store, agent, 'local', ['s'])
  const server = createServer({ agents: [agent], store, engine, pollMs: 5 })
  onTestFinished(() => server.close())
  // The backstop hands what is due to the engine.
  await expect.poll(() => wakes).toContainEqual(['s', { tenant: 'local' }])
  const rest = await advance('s')
  expect(rest).toEqual({ rest: 'waits', at: expect.any(Number) })
  const at = rest?.rest === 'waits' ? rest.at : 0
  expect(wakes).toContainEqual(['s', { at, key: `s@${at}` }])
  wakes.length = 0
  const { pending } = await agent.resumeSession('s')
  const approvals = [{ id: pending.approvals[0]?.id, decision: 'deny' }]
  await ask(server, '/api/agent/session/s/approvals', { body: { approvals } })
  await expect.poll(() => wakes).toContainEqual(['s', {}])
  // Without the engine this process advances it.
  state.isAway = true
  await queued(store, agent, 'local', ['t'])
  await expect.poll(() => statusOf(store, 't')).toBe('suspended')
})

test('a process advances a session of a dead writer by itself: an engine may still wait for that', async () => {
  const store = shared()
  const agent = agentOf(store, [{ text: 'Hello.' }])
  await queued(store, agent, 'ann', ['dead', 'free'])
  expect(await store.lease('dead', 'the dead', 1)).not.toBe('busy')
  await expect.poll(async () => (await store.leaseState('dead')).holder).toBe('lapsed')
  const { engine, wakes } = recordingEngine()
  workerOf(agent, store, { engine })
  // Read from the store: to open the session would take the lease of the dead writer.
  const types = async (): Promise<readonly string[]> => {
    const found: string[] = []
    for await (const { type } of store.read('dead')) found.push(type)
    return found
  }
  await expect.poll(types).toContain('message')
  await expect.poll(() => wakes).toContainEqual(['free', { tenant: 'ann' }])
  expect(wakes.filter(([id]) => id === 'dead')).toEqual([])
})

test('options of a worker are checked', () => {
  const store = shared()
  const agents = [agentOf(store, [])]
  const wrong: readonly (readonly [object, string])[] = [
    [{ agents, store, concurency: 1 }, 'unknown-option'],
    [{ agents, store, limits: {} }, 'unknown-option'],
    [{ agents, store, concurrency: -1 }, 'invalid-option'],
    [{ agents: [], store }, 'invalid-option'],
    [{ agents }, 'invalid-option'],
  ]
  for (const [options, code] of wrong) {
    // @ts-expect-error -- as from JavaScript
    expect(() => createWorker(options)).toThrow(expect.objectContaining({ code }))
  }
})

test('a worker keeps the last 32 sessions open that are idle, and reads the log of an earlier one again', async () => {
  const store = shared()
  const readWhole: string[] = []
  const watched: SessionStore = {
    ...store,
    read(log, after) {
      if (after === undefined || after === 0) readWhole.push(log)
      return store.read(log, after)
    },
  }
  const agent = agentOf(watched, [{ text: 'Hello.' }])
  const ids = Array.from({ length: 34 }, (_, n) => `s${n}`)
  // Sessions are advanced by hand.
  const worker = workerOf(agent, watched, { pollMs: 3_600_000 })
  for (const id of ids) {
    await (await agent.createSession({ id })).close()
    await store.deliver(id, 'send/1', { mode: 'queue', input: 'Hi' }, 'ann')
    expect(await worker.advance(id)).toEqual({ rest: 'done' })
    await expect.poll(() => worker.running).toBe(0)
  }
  readWhole.length = 0
  for (const id of ['s2', 's33', 's1']) expect(await worker.advance(id)).toEqual({ rest: 'done' })
  expect(new Set(readWhole)).toEqual(new Set(['s1']))
  // The one of them that was unused for longest made room.
  readWhole.length = 0
  for (const id of ['s2', 's33', 's3']) expect(await worker.advance(id)).toEqual({ rest: 'done' })
  expect(new Set(readWhole)).toEqual(new Set(['s3']))
})

test('a session that a worker has dropped is not woken by its process', async () => {
  const clock = manualClock()
  const { ephemeral: _, ...store } = memoryStore({ clock })
  const agent = agentOf(store, refunds, { tools: [refundWithin(60_000)] })
  // Sessions are advanced by hand.
  const worker = workerOf(agent, store, { pollMs: 3_600_000 })
  // It keeps 32. The last one gives it the time to drop the first.
  const ids = Array.from({ length: 34 }, (__, n) => `s${n}`)
  for (const id of ids) {
    await (await agent.createSession({ id })).close()
    await store.deliver(id, 'send/1', { mode: 'queue', input: 'Refund.' }, 'ann')
    expect(await worker.advance(id)).toMatchObject({ rest: 'waits' })
    await expect.poll(() => worker.running).toBe(0)
  }
  await clock.advance(61_000)
  await expect.poll(() => statusOf(store, 's9')).toBe('idle')
  expect(await statusOf(store, 's0')).toBe('suspended')
  expect(await worker.advance('s0')).toEqual({ rest: 'done' })
})
