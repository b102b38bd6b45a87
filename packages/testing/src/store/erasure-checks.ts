import assert from 'node:assert/strict'

import type { SessionStore } from '@provost/core'

import { all, idsOf, note, spawned, started, take, write } from './log-entry.ts'
import type { CheckDraft } from './subject.ts'

const child = (session: string, digit: string): string => `${session}/child/${digit.repeat(32)}`
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The methods of a store that erases for good. */
type Erasing = Required<Pick<SessionStore, 'erase' | 'tombstone' | 'sweep'>> & SessionStore

function erases(store: SessionStore): store is Erasing {
  return store.erase !== undefined && store.tombstone !== undefined && store.sweep !== undefined
}

/** Checks of erasure. A store without tombstones passes them. */
export const erasureChecks: readonly CheckDraft[] = [
  {
    name: 'erasing removes a session with its children, and leaves tombstones',
    async run(bench) {
      const store = await bench.store()
      if (!erases(store)) return
      const [session, other] = [bench.name(), bench.name()]
      await write(store, session, [started('r1', { principal: 'ann' }), spawned('c1', child(session, '1'))])
      await write(store, child(session, '1'), [started('r2', { parent: session })])
      await write(store, other, [started('r3', { principal: 'ann' })])
      await store.deliver(session, 't', 1, 'ann')
      const removed = await store.erase(session, 'receipt')
      assert.deepEqual(new Set(removed), new Set([session, child(session, '1')]))
      for (const log of removed) {
        assert.deepEqual(await idsOf(store, log), [])
        assert.deepEqual(await all(store.inbox(log)), [])
        assert.equal((await store.tombstone(log))?.receipt, 'receipt')
      }
      assert.ok(!(await all(store.list({ principal: 'ann' }))).some(({ id }) => id === session))
      assert.equal(await store.tombstone(other), undefined)
      assert.deepEqual(await idsOf(store, other), ['r3'])
    },
  },
  {
    name: 'an erased session cannot come back: not by a writer, a late child, a delivery or a transient item',
    async run(bench) {
      const store = await bench.store()
      if (!erases(store)) return
      const session = bench.name()
      const early = child(session, '1')
      const fence = await write(store, session, [started('r1'), spawned('c1', early)])
      // Its log does not exist yet.
      await store.deliver(early, 'before', 1, 'ann')
      await store.erase(session, 'receipt')
      await assert.rejects(store.append(session, [note('a')], { after: 2, fence }), { code: 'fenced' })
      for (const log of [session, early, child(session, '2')]) {
        await assert.rejects(store.lease(log, 'late', 60_000), { code: 'session-erased' })
        await assert.rejects(store.deliver(log, 'late', 1, 'ann'), { code: 'session-erased' })
        const piece = { log, offset: 1, from: 1, to: 1, body: '"text"' }
        await store.transient?.keep([piece])
        assert.deepEqual((await store.transient?.read(log, 0)) ?? [], [])
        assert.deepEqual(await idsOf(store, log), [])
        assert.deepEqual(await all(store.inbox(log)), [])
        assert.equal((await store.leaseState(log)).holder, 'none')
      }
      await store.erase(session, 'another')
      assert.equal((await store.tombstone(session))?.receipt, 'receipt')
    },
  },
  {
    name: 'an id that has no session can be erased, and deleting alone leaves no tombstone',
    async run(bench) {
      const store = await bench.store()
      if (!erases(store)) return
      const [unused, deleted] = [bench.name(), bench.name()]
      assert.deepEqual(await store.erase(unused, 'receipt'), [])
      await assert.rejects(store.lease(unused, 'late', 60_000), { code: 'session-erased' })
      await write(store, deleted, [note('a')])
      await store.delete(deleted)
      assert.equal(await store.tombstone(deleted), undefined)
      assert.ok((await take(store, deleted, 'next')) > 0)
    },
  },
  {
    name: 'erasing keeps a session that a log falsely claims as its child',
    async run(bench) {
      const store = await bench.store()
      if (!erases(store)) return
      const [thief, victim] = [bench.name(), bench.name()]
      await write(store, victim, [started('r1')])
      await write(store, thief, [started('r2'), spawned('c1', victim), spawned('c2', bench.name())])
      await store.erase(thief, 'receipt')
      assert.deepEqual(await idsOf(store, victim), ['r1'])
      assert.equal(await store.tombstone(victim), undefined)
    },
  },
  {
    name: 'a tombstone survives the store that wrote it',
    sharing: 'one',
    async run(bench) {
      const place = await bench.place()
      const store = await place.open()
      if (!erases(store)) return
      await write(store, 'session', [started('r1')])
      await store.erase('session', 'receipt')
      await store.close()
      const next = await place.open()
      assert.equal((await next.tombstone?.('session'))?.receipt, 'receipt')
      await assert.rejects(next.lease('session', 'late', 60_000), { code: 'session-erased' })
    },
  },
  {
    name: 'blobs that no log mentions are swept once they are old',
    async run(bench) {
      const store = await (await bench.place()).open()
      if (!erases(store)) return
      const [loose, used] = [await store.putBlob(bytesOf('loose')), await store.putBlob(bytesOf('used'))]
      await write(store, 'log', [note('a', used)])
      assert.equal(await store.sweep({ putBefore: 1 }), 0)
      assert.equal(await store.sweep({ putBefore: Date.UTC(2200, 0), traces: true }), 1)
      assert.equal(await store.blob(loose), undefined)
      assert.ok(await store.blob(used))
    },
  },
]
