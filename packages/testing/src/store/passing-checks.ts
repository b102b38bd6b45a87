import assert from 'node:assert/strict'

import type { TransientBuffer, TransientPiece, SessionStore } from '@provost/core'
import { transientLimits } from '@provost/core'

import { all, note, take } from './log-entry.ts'
import type { CheckDraft } from './subject.ts'

/** Skips the check for a store without a transient buffer. */
async function withTransient(store: SessionStore, check: (transient: TransientBuffer) => Promise<void>): Promise<void> {
  if (store.transient) await check(store.transient)
}

function piece(log: string, offset: number, from: number, body: string, to = from): TransientPiece {
  return { log, offset, from, to, body }
}

async function bodies(transient: TransientBuffer, log: string, offset = 0): Promise<readonly string[]> {
  return (await transient.read(log, offset)).map(({ body }) => body)
}

export const transientChecks: readonly CheckDraft[] = [
  {
    name: 'transient events are read in order of their positions, for each log',
    async run(bench) {
      const store = await bench.store()
      await withTransient(store, async (transient) => {
        const [a, b] = [bench.name(), `${bench.name()}/child \ud800 \0`]
        const hostile = JSON.stringify('nul \0, half \ud800, \u2028 🙂\n')
        assert.deepEqual(
          await transient.keep([piece(a, 3, 0, '1'), piece(b, 1, 0, hostile), piece(a, 3, 1, '2', 9)]),
          [],
        )
        assert.deepEqual(await transient.keep([piece(a, 4, 0, '4'), piece(a, 3, 10, '3')]), [])
        assert.deepEqual(await transient.keep([]), [])
        assert.deepEqual(await transient.read(a, 0), [
          piece(a, 3, 0, '1'),
          piece(a, 3, 1, '2', 9),
          piece(a, 3, 10, '3'),
          piece(a, 4, 0, '4'),
        ])
        assert.deepEqual(await transient.read(b, 0), [piece(b, 1, 0, hostile)])
        assert.deepEqual(await bodies(transient, a, 4), ['4'])
        assert.deepEqual(await bodies(transient, bench.name()), [])
      })
    },
  },
  {
    name: 'transient events are dropped up to an entry, and with their session; they are never part of the log',
    async run(bench) {
      const store = await bench.store()
      await withTransient(store, async (transient) => {
        const log = bench.name()
        const fence = await take(store, log)
        await store.append(log, [note('a')], { after: 0, fence })
        await transient.keep([piece(log, 1, 0, 'x'), piece(log, 2, 0, 'y'), piece(log, 3, 0, 'z')])
        await transient.drop([
          { log, offset: 3 },
          { log: bench.name(), offset: 9 },
        ])
        await transient.drop([])
        assert.deepEqual(await bodies(transient, log), ['z'])
        assert.equal((await all(store.read(log))).length, 1)
        await store.append(log, [note('b')], { after: 1, fence })
        await store.release(log, fence)
        await store.delete(log)
        assert.deepEqual(await bodies(transient, log), [])
      })
    },
  },
  {
    name: 'transient events are bounded for each log in number and size, and the earliest are kept',
    async run(bench) {
      const store = await bench.store()
      await withTransient(store, async (transient) => {
        const [log, other] = [bench.name(), bench.name()]
        const many = Array.from({ length: transientLimits.pieces - 1 }, (_, n) => piece(log, 1, n, 'x'))
        assert.deepEqual(await transient.keep(many), [])
        const last = many.length
        assert.deepEqual(
          await transient.keep([piece(log, 1, last, 'y'), piece(log, 1, last + 1, 'z'), piece(other, 1, 0, 'x')]),
          [log],
        )
        assert.deepEqual((await bodies(transient, log)).slice(-2), ['x', 'y'])
        assert.deepEqual(await bodies(transient, other), ['x'])
        await transient.drop([{ log, offset: 2 }])
        const half = 'x'.repeat(transientLimits.length / 2)
        assert.deepEqual(await transient.keep([piece(log, 2, 0, half)]), [])
        assert.deepEqual(await transient.keep([piece(log, 2, 1, half)]), [])
        assert.deepEqual(await transient.keep([piece(log, 2, 2, 'x')]), [log])
        assert.equal((await transient.read(log, 0)).length, 2)
        // Dropping from the front frees space.
        await transient.keep([piece(other, 2, 0, half)])
        await transient.drop([{ log: other, offset: 2 }])
        assert.deepEqual(await transient.keep([piece(other, 3, 0, half)]), [])
        assert.deepEqual(await transient.keep([piece(other, 3, 1, 'x')]), [other])
      })
    },
  },
  {
    name: 'transient events written through one handle are read through another',
    sharing: 'processes',
    async run(bench) {
      const place = await bench.place()
      const [a, b] = [await place.open(), await place.open()]
      assert.ok(a.transient && b.transient, 'stores that processes share must keep transient events')
      const log = bench.name()
      await Promise.all([a.transient.keep([piece(log, 1, 0, 'x')]), b.transient.keep([piece(bench.name(), 1, 0, 'y')])])
      assert.deepEqual(await bodies(b.transient, log), ['x'])
    },
  },
]
