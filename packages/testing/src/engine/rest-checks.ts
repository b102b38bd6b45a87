import assert from 'node:assert/strict'

import type { Entry } from '@provost/core'

import { canary } from './engine-desk.ts'
import { entriesOf, until } from './log-state.ts'
import type { EngineBench, EngineDraft } from './subject.ts'

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n)

/** Approves what a session asks, as any process may. */
async function approve({ store }: EngineBench, id: string, token: string): Promise<'accepted' | 'duplicate'> {
  return store.deliver(id, token, { decision: 'approve' }, 'boss')
}

async function runIdOf({ store }: EngineBench, id: string): Promise<string> {
  return (await entriesOf(store, id)).find(({ type }) => type === 'run')?.runId ?? ''
}

/** What sessions do while they run, wait and end. */
export const restChecks: readonly EngineDraft[] = [
  {
    name: 'sessions with input end, also many at once',
    async run(bench) {
      const ids = numbers(24).map((n) => `many.${n}`)
      for (const id of ids) await bench.begin(id, [{}, {}], `user ${ids.indexOf(id) % 5}`)
      await bench.worker()
      await bench.worker()
      await bench.ended(ids, 48)
    },
  },
  {
    name: 'a delivery that wakes no engine is found: input, and the answer to a question',
    async run(bench) {
      await bench.worker()
      await bench.begin('session', [{ asks: true }, {}])
      await approve(bench, 'session', await bench.question('session'))
      await bench.ended(['session'], 2)
    },
  },
  {
    name: 'an answer that comes while no process lives is used, and of two answers the first one',
    async run(bench) {
      for (const id of ['denied', 'approved']) await bench.begin(id, [{ asks: true }])
      const first = await bench.worker()
      const tokens = [await bench.question('denied'), await bench.question('approved')] as const
      await first.close({ graceMs: 1_000 })
      assert.equal(await bench.store.deliver('denied', tokens[0], { decision: 'deny' }, 'boss'), 'accepted')
      assert.equal(await approve(bench, 'denied', tokens[0]), 'duplicate')
      await approve(bench, 'approved', tokens[1])
      await bench.worker()
      await bench.ended(['denied'], 0)
      await bench.ended(['approved'], 1)
    },
  },
  {
    name: 'wakes too many, and wakes of unknown sessions, change nothing',
    async run(bench) {
      const worker = await bench.worker()
      const { engine } = worker.parts
      await bench.begin('session', [{ takesMs: 50 }, { asks: true }])
      for (const _ of numbers(5)) await engine?.wake('session')
      await engine?.wake('no such session')
      const token = await bench.question('session')
      const isSuspended = (entry: Entry | undefined): boolean => entry?.type === 'run' && entry.op === 'suspended'
      await until(
        async () => isSuspended((await entriesOf(bench.store, 'session')).at(-1)),
        () => 'the session is not suspended',
      )
      const before = (await entriesOf(bench.store, 'session')).length
      for (const n of numbers(5)) await engine?.wake('session', { key: `wake ${n}` })
      await bench.begin('other', [{}])
      await bench.ended(['other'], 1)
      assert.equal((await entriesOf(bench.store, 'session')).length, before)
      await approve(bench, 'session', token)
      for (const _ of numbers(5)) await engine?.wake('session')
      await bench.ended(['session'], 2)
    },
  },
  {
    name: 'a wait ends at its deadline, also if no process lives then',
    async run(bench) {
      for (const id of ['here', 'alone']) await bench.begin(id, [{ asks: true, withinMs: 400 }, {}])
      const first = await bench.worker()
      for (const id of ['here', 'alone']) await bench.question(id)
      await bench.ended(['here'], 1)
      await first.close({ graceMs: 1_000 })
      await bench.begin('later', [{ asks: true, withinMs: 50 }, {}])
      const second = await bench.worker()
      await bench.question('later')
      await second.close({ graceMs: 0 })
      await new Promise((resolve) => setTimeout(resolve, 60))
      await bench.worker()
      await bench.ended(['alone', 'later'], 2)
    },
  },
  {
    name: 'an abort ends a run that has not begun, runs, or waits, and does nothing after its end',
    async run(bench) {
      const abort = async (id: string): Promise<void> => {
        const runId = await runIdOf(bench, id)
        await bench.store.deliver(id, `abort/${id}`, { runId, options: { graceMs: 0 } }, 'ann')
      }
      await bench.begin('waits', [{ asks: true }])
      await bench.begin('runs', [{ takesMs: 30_000 }])
      await bench.begin('ended', [{}])
      const worker = await bench.worker()
      await bench.question('waits')
      await until(
        () => worker.peaks.get('runs') === 1,
        () => 'the call has not begun',
      )
      await bench.ended(['ended'], 1)
      for (const id of ['waits', 'runs', 'ended']) await abort(id)
      await bench.ended(['waits', 'runs'], 0, 'aborted')
      await bench.ended(['ended'], 1)
    },
  },
  {
    name: 'a session with another writer is left to it, and continues when that has gone',
    // Until the store looks at it again.
    isSlow: true,
    async run(bench) {
      await bench.begin('held', [{}])
      const lease = await bench.store.lease('held', 'another writer', 60_000)
      assert.notEqual(lease, 'busy')
      const worker = await bench.worker()
      await worker.parts.engine?.wake('held')
      await bench.begin('free', [{}])
      await bench.ended(['free'], 1)
      assert.deepEqual(
        (await entriesOf(bench.store, 'held')).filter(({ type }) => type === 'run'),
        [],
      )
      if (lease !== 'busy') await bench.store.release('held', lease.fence)
      await bench.ended(['held'], 1)
    },
  },
  {
    name: 'a session that is deleted while it is due is forgotten, and others end',
    async run(bench) {
      await bench.begin('deleted', [{}])
      await bench.store.delete('deleted')
      const worker = await bench.worker()
      await worker.parts.engine?.wake('deleted')
      await bench.begin('other', [{}])
      await bench.ended(['other'], 1)
      assert.deepEqual(await entriesOf(bench.store, 'deleted'), [])
    },
  },
  {
    name: 'the server of the engine stores nothing of what users say',
    async run(bench) {
      const worker = await bench.worker()
      await bench.begin('session', [{ asks: true }])
      await worker.parts.engine?.wake('session')
      const token = await bench.question('session')
      const stored = await bench.place.stored?.()
      assert.ok(stored === undefined || (stored.includes('session') && !stored.includes(canary)))
      await approve(bench, 'session', token)
      await bench.ended(['session'], 1)
    },
  },
]
