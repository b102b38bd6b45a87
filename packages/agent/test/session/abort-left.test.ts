import { setTimeout } from 'node:timers/promises'

import type { NewEntry, SessionStore } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { expect, test } from 'vitest'

import { readLog } from '../run/run-check.ts'
import { gate, pay, payTool, world } from './session-world.ts'

/** A store that other processes use. */
function shared(): SessionStore {
  const { ephemeral: _, ...store } = memoryStore()
  return store
}

const takesAbort = (entry: Pick<NewEntry, 'type'> & { readonly token?: string }): boolean =>
  entry.type === 'resolved' && entry.token?.startsWith('abort/') === true

/** A store seen by a process that dies as it has recorded that it took an abort. */
function dyingAtAbort(store: SessionStore) {
  const died = Promise.withResolvers<void>()
  const fences = new Map<string, number>()
  const gone = new Promise<never>(() => {})
  let isDead = false
  const mortal: SessionStore = {
    ...store,
    async lease(log, ...terms) {
      const lease = await store.lease(log, ...terms)
      if (lease !== 'busy') fences.set(log, lease.fence)
      return lease
    },
    async append(log, entries, terms) {
      if (isDead) return gone
      const appended = await store.append(log, entries, terms)
      if (!entries.some(takesAbort)) return appended
      isDead = true
      for (const [name, fence] of fences) await store.release(name, fence)
      died.resolve()
      return gone
    },
    release: async (...terms) => (isDead ? gone : store.release(...terms)),
  }
  return { mortal, died: died.promise }
}

async function endOf(store: SessionStore): Promise<unknown> {
  const last = (await readLog(store, 's')).findLast((entry) => entry.type === 'run')
  return last?.op === 'ended' ? last.status : last?.op
}

test('a process that resumes the run carries out an abort that the one before it had taken from the inbox', async () => {
  const store = shared()
  const { mortal, died } = dyingAtAbort(store)
  const work = gate()
  const script = [{ toolCalls: [{ name: 'work' }] }, { text: 'Done.' }]
  const session = await world(script, { tools: [work.tool], store: mortal }).agent.createSession({ id: 's' })
  const { runId } = session.stream('go')
  await work.entered
  await store.deliver('s', 'abort/1', { runId, options: { graceMs: 0 } }, 'ann')
  await died
  expect(await endOf(store)).toBe('started')

  const other = await world([{ text: 'Done.' }], { tools: [work.tool], store }).agent.resumeSession('s')
  expect(await other.advance()).toEqual({ rest: 'done' })
  expect(await endOf(store)).toBe('aborted')
  expect(JSON.stringify(other.messages)).not.toContain('Done.')
  // It is carried out once: the run may continue later.
  expect((await other.resume().result).status).toBe('completed')
})

test('the abort is carried out with its options', async () => {
  const store = shared()
  const { mortal, died } = dyingAtAbort(store)
  const work = gate()
  const tools = [work.tool, payTool().tool]
  const script = [{ toolCalls: [pay(5), { name: 'work' }] }, { text: 'Done.' }]
  const session = await world(script, { tools, store: mortal }).agent.createSession({ id: 's' })
  const { runId } = session.stream('go')
  await work.entered
  await store.deliver('s', 'abort/1', { runId, options: { onPendingApprovals: 'hold' } }, 'ann')
  await died

  const other = await world([{ text: 'Done.' }], { tools, store }).agent.resumeSession('s')
  expect(await other.advance()).toEqual({ rest: 'waits' })
  expect(await endOf(store)).toBe('suspended')
  // The question stays open. The call that was in progress has ended: nothing asks what became of it.
  expect([other.pending.approvals.length, other.pending.uncertain]).toEqual([1, []])
})

test('an abort that a dead process took from the inbox of a run that waits ends it', async () => {
  const store = shared()
  const { mortal, died } = dyingAtAbort(store)
  const tools = [payTool().tool]
  const session = await world([{ toolCalls: [pay(5)] }], { tools, store: mortal }).agent.createSession({ id: 's' })
  const { runId } = await session.stream('go').result
  await store.deliver('s', 'abort/1', { runId, options: {} }, 'ann')
  void session.advance()
  await died
  const due = await store.claimDue?.({ agents: ['a'], limit: 10, hiddenMs: 60_000 })
  expect(due?.map(({ id }) => id)).toEqual(['s'])

  const other = await world([], { tools, store }).agent.resumeSession('s')
  expect(await other.advance()).toEqual({ rest: 'done' })
  expect(await endOf(store)).toBe('aborted')
})

test('an abort that arrives while a process takes the run over ends it, though the store answers late', async () => {
  const store = shared()
  const { mortal, died } = dyingAtAbort(store)
  const work = gate()
  const script = [{ toolCalls: [{ name: 'work' }] }, { text: 'Done.' }]
  const session = await world(script, { tools: [work.tool], store: mortal }).agent.createSession({ id: 's' })
  const { runId } = session.stream('go')
  await work.entered
  // Only to die.
  await store.deliver('s', 'abort/0', { runId, options: { drain: true } }, 'ann')
  await died

  const silent: SessionStore = {
    ...store,
    async *inbox(...terms) {
      yield* store.inbox(...terms)
      // The last page never arrives.
      if ((await readLog(store, 's')).length > 0) await new Promise(() => {})
    },
  }
  await store.deliver('s', 'abort/1', { runId, options: { graceMs: 0 } }, 'ann')
  const other = await world([], { tools: [work.tool], store: silent }).agent.resumeSession('s')
  expect((await other.resume().result).status).toBe('aborted')
  expect(await endOf(store)).toBe('aborted')
})

/** A run that waits for a human, and to which an abort is sent as it pauses. */
async function abortedAsItPauses(store: SessionStore, pause: (taking: Promise<void>) => Promise<unknown>, lateMs = 0) {
  const taking = Promise.withResolvers<void>()
  const late: SessionStore = {
    ...store,
    async append(log, entries, terms) {
      if (entries.some(takesAbort)) {
        taking.resolve()
        await setTimeout(lateMs)
      }
      return store.append(log, entries, terms)
    },
  }
  const pausing = defineExtension({
    name: 'pausing',
    hooks: {
      async 'run.end'({ status, runId }) {
        if (status !== 'suspended') return
        await store.deliver('s', 'abort/1', { runId, options: {} }, 'ann')
        await pause(taking.promise)
      },
    },
  })
  const more = { tools: [payTool().tool], extensions: [pausing] }
  const session = await world([{ toolCalls: [pay(5)] }], { ...more, store: late }).agent.createSession({ id: 's' })
  return { result: await session.stream('go').result, more }
}

test('an abort that arrives as the run pauses ends it', async () => {
  const store = shared()
  const { result } = await abortedAsItPauses(store, (taking) => taking.then(() => setTimeout(20)))
  expect([result.status, await endOf(store)]).toEqual(['aborted', 'aborted'])
})

test('an abort that is recorded with the pause of the run makes it due, and ends it then', async () => {
  const store = shared()
  const { result, more } = await abortedAsItPauses(store, (taking) => taking, 20)
  expect(result.status).toBe('suspended')
  const due = await store.claimDue?.({ agents: ['a'], limit: 10, hiddenMs: 60_000 })
  expect(due?.map(({ id }) => id)).toEqual(['s'])
  const other = await world([{ text: 'Done.' }], { ...more, store }).agent.resumeSession('s')
  expect(await other.advance()).toEqual({ rest: 'done' })
  expect(await endOf(store)).toBe('aborted')
})
