import type { Delivery, Entry, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { MemoryStoreOptions } from '@provost/sessions'
import { manualClock } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'

import { readLog } from '../run/run-check.ts'
import { pay, payTool, world } from './session-world.ts'

const claims = { agents: ['a'], limit: 10, hiddenMs: 60_000 }

/** A store that other processes use. */
function shared(options: MemoryStoreOptions = {}): SessionStore {
  const { ephemeral: _, ...store } = memoryStore(options)
  return store
}

async function claimed(store: SessionStore): Promise<readonly string[]> {
  return ((await store.claimDue?.(claims)) ?? []).map(({ id }) => id)
}

/** Delivers to a session as another process does. */
async function answer(store: SessionStore, token: string, value: object): Promise<void> {
  await store.deliver('s', token, { ...value }, 'ann')
}

function isRun(entry: Entry): boolean {
  return entry.type === 'run'
}

test('a session that waits rests until its deadline, and advancing it writes nothing without news', async () => {
  const store = shared()
  const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'Paid.' }], { tools: [payTool().tool], store })
  const session = await agent.createSession({ id: 's' })
  expect([session.rest, await session.advance()]).toEqual(['idle', { rest: 'done' }])
  await session.stream('go').result
  expect([session.rest, session.nextDeadline]).toEqual(['waits', undefined])
  const before = (await readLog(store, 's')).length
  expect(await session.advance()).toEqual({ rest: 'waits' })
  // Something that the run does not wait for.
  await answer(store, 'other', {})
  expect(await claimed(store)).toEqual(['s'])
  expect(await session.advance()).toEqual({ rest: 'waits' })
  expect((await readLog(store, 's')).length).toBe(before)
  expect(await claimed(store)).toEqual([])
})

test('an answer that any process delivered is found, and the run ends', async () => {
  const store = shared()
  const { tool: payment, done } = payTool()
  const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'Paid.' }], { tools: [payment], store })
  const session = await agent.createSession({ id: 's' })
  const { pending } = await session.stream('go').result
  await session.close()
  await answer(store, pending.approvals[0]?.id ?? '', { decision: 'approve' })
  expect(await claimed(store)).toEqual(['s'])
  const other = await agent.resumeSession('s')
  expect(await other.advance()).toEqual({ rest: 'done' })
  expect([other.rest, done]).toEqual(['idle', [5]])
  expect((await readLog(store, 's')).findLast(isRun)).toMatchObject({ op: 'ended', status: 'completed' })
  expect(await claimed(store)).toEqual([])
})

test('a deadline is recorded with the suspension, and is due there', async () => {
  const store = shared()
  const payment = tool({
    name: 'pay',
    input: z.object({ sum: z.number() }),
    needsApproval: () => ({ reason: 'money', expiresInMs: 60_000 }),
    execute: () => 'paid',
  })
  const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'Too late.' }], { tools: [payment], store })
  const session = await agent.createSession({ id: 's' })
  await session.stream('go').result
  const at = session.nextDeadline ?? 0
  expect((await readLog(store, 's')).findLast(isRun)).toMatchObject({ op: 'suspended', due: at, seen: '' })
  expect(await session.advance()).toEqual({ rest: 'waits', at })
})

test('input that no run has taken starts a run, from the inbox alone', async () => {
  const store = shared()
  const { agent } = world([{ text: 'Hello.' }], { store })
  const session = await agent.createSession({ id: 's' })
  await answer(store, 'send/k', { mode: 'queue', input: 'hello' })
  expect(await claimed(store)).toEqual(['s'])
  expect(await session.advance()).toEqual({ rest: 'done' })
  expect(session.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect(await session.advance()).toEqual({ rest: 'done' })
  expect(await claimed(store)).toEqual([])
})

test('a run of another process is busy until its lease ends; a dead one is continued', async () => {
  const clock = manualClock()
  const store = shared({ clock })
  const { agent } = world([{ text: 'Hello.' }], { store })
  const session = await agent.createSession({ id: 's' })
  const gone = new Error('gone')
  const dying: SessionStore = {
    ...store,
    async append(log, entries, at) {
      const appended = await store.append(log, entries, at)
      if (entries.some((entry) => entry.type === 'message')) throw gone
      return appended
    },
    release: async () => {},
  }
  const dead = await world([{ text: 'Hello.' }], { store: dying, leaseMs: 60_000 }).agent.resumeSession('s')
  await dead.stream('hello').result
  const busy = await session.advance()
  expect(busy).toEqual({ rest: 'busy', until: clock.now() + 60_000 })
  expect(session.rest).toBe('crashed')
  await clock.advance(60_000)
  expect(await session.advance()).toEqual({ rest: 'done' })
  expect(session.rest).toBe('idle')
})

test('a run that yields is suspended between two steps, is due at once, and goes on', async () => {
  const store = shared()
  const worked: number[] = []
  const work = tool({
    name: 'work',
    input: z.object({}),
    execute: () => {
      if (worked.push(worked.length) === 1) session.yield()
      return 'worked'
    },
  })
  const { agent } = world([{ toolCalls: [{ name: 'work' }] }, { toolCalls: [{ name: 'work' }] }, { text: 'Done.' }], {
    tools: [work],
    store,
  })
  const session = await agent.createSession({ id: 's' })
  session.yield()
  const { status, pending } = await session.stream('go').result
  expect([status, pending.approvals, worked, session.rest]).toEqual(['suspended', [], [0], 'yielded'])
  expect(await claimed(store)).toEqual(['s'])
  const other = await agent.resumeSession('s')
  expect(other.rest).toBe('yielded')
  expect(await other.advance()).toEqual({ rest: 'done' })
  expect([other.messages.at(-1)?.content, worked]).toMatchObject([[{ text: 'Done.' }], [0, 1]])
})

test('an abort that arrives before the run is resumed ends it', async () => {
  const store = shared()
  const { agent } = world([{ toolCalls: [pay(5)] }], { tools: [payTool().tool], store })
  const session = await agent.createSession({ id: 's' })
  const { runId } = await session.stream('go').result
  await answer(store, 'abort/1', { runId: 'another', options: {} })
  expect(await session.advance()).toEqual({ rest: 'waits' })
  await answer(store, 'abort/2', { runId, options: {} })
  expect(await session.advance()).toEqual({ rest: 'done' })
  expect((await readLog(store, 's')).findLast(isRun)).toMatchObject({ op: 'ended', status: 'aborted' })
})

test('a run that cannot be resumed rejects, and its log is unchanged', async () => {
  const store = shared()
  const work = tool({ name: 'work', effect: 'none', input: z.object({}) })
  const { agent } = world([{ toolCalls: [{ name: 'work' }] }], { tools: [work], store })
  const session = await agent.createSession({ id: 's' })
  const { pending } = await session.stream('go').result
  const other = await world([], { store }).agent.resumeSession('s')
  await answer(store, pending.remoteCalls[0]?.id ?? '', { output: 1 })
  const before = (await readLog(store, 's')).length
  await expect(other.advance()).rejects.toMatchObject({ code: 'missing-tool' })
  expect((await readLog(store, 's')).length).toBe(before)
})

/** A store of which one method waits, once, until it is opened. */
function held(store: SessionStore, method: 'lease' | 'setDue') {
  const entered = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  async function pass(): Promise<void> {
    entered.resolve()
    await opened.promise
  }
  const slow: SessionStore =
    method === 'lease'
      ? { ...store, lease: async (...terms) => (await pass(), store.lease(...terms)) }
      : { ...store, setDue: async (...next) => (await pass(), store.setDue?.(...next)) }
  return { slow, entered: entered.promise, open: () => opened.resolve() }
}

test('a process whose input another one took finds the answer that the session then got', async () => {
  const store = shared()
  const { tool: payment, done } = payTool()
  const { slow, entered, open } = held(store, 'lease')
  const late = world([{ text: 'Paid.' }], { tools: [payment], store: slow }).agent
  const { agent } = world([{ toolCalls: [pay(5)] }], { tools: [payment], store })
  await (await agent.createSession({ id: 's' })).close()
  await answer(store, 'send/k', { mode: 'queue', input: 'go' })
  const behind = await late.resumeSession('s')
  const advancing = behind.advance()
  await entered
  const first = await agent.resumeSession('s')
  expect(await first.advance()).toEqual({ rest: 'waits' })
  await answer(store, first.pending.approvals[0]?.id ?? '', { decision: 'approve' })
  open()
  expect(await advancing).toEqual({ rest: 'done' })
  expect([done, behind.messages.at(-1)?.content]).toMatchObject([[5], [{ text: 'Paid.' }]])
})

test('a process that found nothing to do does not hide the deadline of a run that another one has begun since', async () => {
  const clock = manualClock()
  const store = shared({ clock })
  const payment = tool({
    name: 'pay',
    input: z.object({ sum: z.number() }),
    needsApproval: () => ({ reason: 'money', expiresInMs: 60_000 }),
    execute: () => 'paid',
  })
  const { slow, entered, open } = held(store, 'setDue')
  const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'Too late.' }], { tools: [payment], store })
  const session = await agent.createSession({ id: 's' })
  const behind = await world([], { tools: [payment], store: slow }).agent.resumeSession('s')
  const advancing = behind.advance()
  await entered
  expect((await session.stream('go').result).status).toBe('suspended')
  open()
  expect(await advancing).toEqual({ rest: 'done' })
  await clock.advance(60_000)
  expect(await claimed(store)).toEqual(['s'])
})

async function deliveriesOf(store: SessionStore, log: string, after?: string): Promise<readonly Delivery[]> {
  const found: Delivery[] = []
  for await (const delivery of store.inbox(log, after)) found.push(delivery)
  return found
}

/** A store for a process that reads an answer as it suspends the run that asked, and dies before it can use the answer. */
function dyingWithAnswer(store: SessionStore) {
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  let reading: 'normally' | 'slowly' = 'normally'
  let isDead = false
  const dying: SessionStore = {
    ...store,
    lease: (...terms) => (isDead ? new Promise(() => {}) : store.lease(...terms)),
    async append(log, entries, at) {
      const appended = await store.append(log, entries, at)
      if (entries.some(({ type }) => type === 'wait')) reading = 'slowly'
      isDead ||= entries.some((entry) => entry.type === 'run' && entry.op === 'suspended')
      return appended
    },
    async *inbox(log, after) {
      const found = await deliveriesOf(store, log, after)
      if (reading === 'slowly') {
        reading = 'normally'
        asked.resolve()
        await answered.promise
      }
      yield* found
    },
  }
  return { dying, asked: asked.promise, answered: () => answered.resolve() }
}

test('an answer that arrives as the run suspends is used, also if the process dies then', async () => {
  const store = shared()
  const { tool: payment, done } = payTool()
  const { dying, asked, answered } = dyingWithAnswer(store)
  const { agent } = world([{ toolCalls: [pay(5)] }], { tools: [payment], store: dying })
  const session = await agent.createSession({ id: 's' })
  session.stream('go').result.catch(() => {})
  await asked
  const wait = (await readLog(store, 's')).find(({ type }) => type === 'wait')
  await answer(store, wait?.type === 'wait' ? wait.token : '', { decision: 'approve' })
  // The notification of the delivery begins a second read behind the first one.
  await new Promise(setImmediate)
  answered()
  const [delivery] = await deliveriesOf(store, 's')
  const last = async (): Promise<Entry | undefined> => (await readLog(store, 's')).at(-1)
  await expect.poll(last).toMatchObject({ op: 'suspended', seen: delivery?.id })
  await expect.poll(() => claimed(store)).toEqual(['s'])
  const { agent: other } = world([{ text: 'Paid.' }], { tools: [payment], store })
  expect(await (await other.resumeSession('s')).advance()).toEqual({ rest: 'done' })
  expect(done).toEqual([5])
})

test('an answer whose record an abort discards is used by the next process', async () => {
  const store = shared()
  const { tool: payment, done } = payTool()
  const stalled = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  let isDead = false
  const slow: SessionStore = {
    ...store,
    lease: (...terms) => (isDead ? new Promise(() => {}) : store.lease(...terms)),
    async append(log, entries, at) {
      if (entries.some((entry) => entry.type === 'resolved' && entry.token === 'abort/other')) {
        stalled.resolve()
        await opened.promise
      }
      isDead ||= entries.some((entry) => entry.type === 'run' && entry.op === 'suspended')
      return store.append(log, entries, at)
    },
  }
  const { agent } = world([{ toolCalls: [pay(5)] }], { tools: [payment], store: slow })
  const session = await agent.createSession({ id: 's' })
  const asked = Promise.withResolvers<string>()
  const run = session.stream('go', {
    onApproval({ id }) {
      asked.resolve(id)
      return new Promise(() => {})
    },
  })
  run.result.catch(() => {})
  const wait = await asked.promise
  const options = { drain: true, onPendingApprovals: 'hold', graceMs: 0 } as const
  await answer(store, 'abort/other', { runId: run.runId, options })
  await stalled.promise
  // Its record waits for the write that stalls.
  await answer(store, wait, { decision: 'approve' })
  await new Promise(setImmediate)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  run.abort({ onPendingApprovals: 'hold', graceMs: 0 }).catch(() => {})
  await vi.advanceTimersByTimeAsync(1_000)
  vi.useRealTimers()
  opened.resolve()
  const last = async (): Promise<Entry | undefined> => (await readLog(store, 's')).at(-1)
  await expect.poll(last).toMatchObject({ op: 'suspended', due: expect.any(Number) })
  expect(await claimed(store)).toEqual(['s'])
  const { agent: other } = world([{ text: 'Paid.' }], { tools: [payment], store })
  expect(await (await other.resumeSession('s')).advance()).toEqual({ rest: 'done' })
  expect(done).toEqual([5])
})
