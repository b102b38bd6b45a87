import assert from 'node:assert/strict'

import { all, idsOf, note, started, take, write } from './log-entry.ts'
import type { CheckDraft } from './subject.ts'

export const reopenChecks: readonly CheckDraft[] = [
  {
    name: 'a reopened store reads what an earlier one stored',
    sharing: 'one',
    async run(bench) {
      const place = await bench.place()
      const first = await place.open()
      const fence = await write(first, 's', [started('r'), note('a', 'ä')])
      await first.deliver('s', 't', 1, 'ann')
      const hash = await first.putBlob(new TextEncoder().encode('bytes'))
      await first.release('s', fence)
      await first.close()
      const second = await place.open()
      assert.deepEqual(await idsOf(second, 's'), ['r', 'a'])
      assert.equal(await second.deliver('s', 't', 2, 'ann'), 'duplicate')
      assert.equal((await all(second.inbox('s'))).length, 1)
      assert.equal((await second.blob(hash))?.length, 5)
      assert.equal((await all(second.list())).length, 1)
      const later = await take(second, 's')
      assert.ok(later > fence, 'the fence fell')
      const { existing } = await second.append('s', [note('a', 'late'), note('b')], { after: 2, fence: later })
      assert.deepEqual(existing, [{ ...note('a', 'ä'), offset: 2 }])
    },
  },
  {
    name: 'a closed store fails with store-closed, and can be closed again',
    sharing: 'one',
    async run(bench) {
      const store = await (await bench.place()).open()
      const fence = await take(store, 's')
      await store.close()
      await store.close()
      const closed = { code: 'store-closed' }
      await assert.rejects(store.append('s', [note('a')], { after: 0, fence }), closed)
      await assert.rejects(store.lease('s', 'other', 1), closed)
      await assert.rejects(all(store.read('s')), closed)
      await assert.rejects(store.deliver('s', 't', 1, 'ann'), closed)
      await assert.rejects(all(store.list()), closed)
    },
  },
  {
    name: 'stores on one place see each other’s writes, and one of them holds a lease',
    sharing: 'processes',
    async run(bench) {
      const place = await bench.place()
      const [first, second] = [await place.open(), await place.open()]
      const fence = await write(first, 's', [started('r')])
      assert.equal(await second.lease('s', 'other', 60_000), 'busy')
      assert.deepEqual(await idsOf(second, 's'), ['r'])
      await second.deliver('s', 't', 1, 'ann')
      assert.equal(await first.deliver('s', 't', 2, 'bob'), 'duplicate')
      assert.equal((await all(first.inbox('s'))).length, 1)
      await first.release('s', fence)
      const later = await take(second, 's', 'other')
      await second.append('s', [note('a')], { after: 1, fence: later })
      await assert.rejects(first.append('s', [note('b')], { after: 1, fence }), { code: 'fenced' })
      // The first store's view of the log is stale; taking the lease again refreshes it.
      await second.release('s', later)
      const again = await take(first, 's')
      await assert.rejects(first.append('s', [note('b')], { after: 1, fence: again }), { code: 'wrong-offset' })
      assert.deepEqual((await first.append('s', [note('a'), note('b')], { after: 2, fence: again })).existing.length, 1)
      assert.deepEqual(await idsOf(second, 's'), ['r', 'a', 'b'])
    },
  },
  {
    name: 'a fence is valid in every store: a lease taken through one store permits writes through another',
    sharing: 'processes',
    async run(bench) {
      const place = await bench.place()
      const [first, second] = [await place.open(), await place.open()]
      const fence = await take(first, 's')
      await second.append('s', [note('a')], { after: 0, fence })
      assert.deepEqual(await idsOf(first, 's'), ['a'])
    },
  },
  {
    name: 'a watcher is notified of writes through another store',
    sharing: 'processes',
    async run(bench) {
      const place = await bench.place()
      const [first, second] = [await place.open(), await place.open()]
      const abort = new AbortController()
      const fence = await write(second, 's', [note('a')])
      const delivered = Promise.withResolvers<void>()
      const appended = Promise.withResolvers<void>()
      const over = (async () => {
        for await (const _ of first.watch('s', abort.signal)) {
          if ((await all(first.inbox('s'))).length === 1) delivered.resolve()
          if ((await idsOf(first, 's')).length === 2) appended.resolve()
        }
      })()
      await second.deliver('s', 't', 1, 'ann')
      await delivered.promise
      await second.append('s', [note('b')], { after: 1, fence })
      await appended.promise
      abort.abort()
      await over
    },
  },
]
