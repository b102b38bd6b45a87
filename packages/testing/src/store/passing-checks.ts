import assert from 'node:assert/strict'

import type { PassingBuffer, PassingPiece, SessionStore } from '@provost/core'
import { passingLimits } from '@provost/core'

import { all, note, take } from './log-entry.ts'
import type { CheckDraft } from './subject.ts'

/** Skips the check for a store without a transient buffer. */
async function withPassing(store: SessionStore, check: (passing: PassingBuffer) => Promise<void>): Promise<void> {
  if (store.passing) await check(store.passing)
}

function piece(log: string, offset: number, from: number, body: string, to = from): PassingPiece {
  return { log, offset, from, to, body }
}

async function bodies(passing: PassingBuffer, log: string, offset = 0): Promise<readonly string[]> {
  return (await passing.read(log, offset)).map(({ body }) => body)
}

export const passingChecks: readonly CheckDraft[] = [
  {
    name: 'transient events are read in order of their positions, for each log',
    async run(bench) {
      const store = await bench.store()
      await withPassing(store, async (passing) => {
        const [a, b] = [bench.name(), `${bench.name()}/child \ud800 \0`]
        const hostile = JSON.stringify('nul \0, half \ud800, \u2028 🙂\n')
        assert.deepEqual(await passing.keep([piece(a, 3, 0, '1'), piece(b, 1, 0, hostile), piece(a, 3, 1, '2', 9)]), [])
        assert.deepEqual(await passing.keep([piece(a, 4, 0, '4'), piece(a, 3, 10, '3')]), [])
        assert.deepEqual(await passing.keep([]), [])
        assert.deepEqual(await passing.read(a, 0), [
          piece(a, 3, 0, '1'),
          piece(a, 3, 1, '2', 9),
          piece(a, 3, 10, '3'),
          piece(a, 4, 0, '4'),
        ])
        assert.deepEqual(await passing.read(b, 0), [piece(b, 1, 0, hostile)])
        assert.deepEqual(await bodies(passing, a, 4), ['4'])
        assert.deepEqual(await bodies(passing, bench.name()), [])
      })
    },
  },
  {
    name: 'transient events are dropped up to an entry, and with their session; they are never part of the log',
    async run(bench) {
      const store = await bench.store()
      await withPassing(store, async (passing) => {
        const log = bench.name()
        const fence = await take(store, log)
        await store.append(log, [note('a')], { after: 0, fence })
        await passing.keep([piece(log, 1, 0, 'x'), piece(log, 2, 0, 'y'), piece(log, 3, 0, 'z')])
        await passing.drop([
          { log, offset: 3 },
          { log: bench.name(), offset: 9 },
        ])
        await passing.drop([])
        assert.deepEqual(await bodies(passing, log), ['z'])
        assert.equal((await all(store.read(log))).length, 1)
        await store.append(log, [note('b')], { after: 1, fence })
        await store.release(log, fence)
        await store.delete(log)
        assert.deepEqual(await bodies(passing, log), [])
      })
    },
  },
  {
    name: 'transient events are bounded for each log in number and size, and the earliest are kept',
    async run(bench) {
      const store = await bench.store()
      await withPassing(store, async (passing) => {
        const [log, other] = [bench.name(), bench.name()]
        const many = Array.from({ length: passingLimits.pieces - 1 }, (_, n) => piece(log, 1, n, 'x'))
        assert.deepEqual(await passing.keep(many), [])
        const last = many.length
        assert.deepEqual(
          await passing.keep([piece(log, 1, last, 'y'), piece(log, 1, last + 1, 'z'), piece(other, 1, 0, 'x')]),
          [log],
        )
        assert.deepEqual((await bodies(passing, log)).slice(-2), ['x', 'y'])
        assert.deepEqual(await bodies(passing, other), ['x'])
        await passing.drop([{ log, offset: 2 }])
        const half = 'x'.repeat(passingLimits.length / 2)
        assert.deepEqual(await passing.keep([piece(log, 2, 0, half)]), [])
        assert.deepEqual(await passing.keep([piece(log, 2, 1, half)]), [])
        assert.deepEqual(await passing.keep([piece(log, 2, 2, 'x')]), [log])
        assert.equal((await passing.read(log, 0)).length, 2)
        // Dropping from the front frees space.
        await passing.keep([piece(other, 2, 0, half)])
        await passing.drop([{ log: other, offset: 2 }])
        assert.deepEqual(await passing.keep([piece(other, 3, 0, half)]), [])
        assert.deepEqual(await passing.keep([piece(other, 3, 1, 'x')]), [other])
      })
    },
  },
  {
    name: 'transient events written through one handle are read through another',
    sharing: 'processes',
    async run(bench) {
      const place = await bench.place()
      const [a, b] = [await place.open(), await place.open()]
      assert.ok(a.passing && b.passing, 'stores that processes share must keep transient events')
      const log = bench.name()
      await Promise.all([a.passing.keep([piece(log, 1, 0, 'x')]), b.passing.keep([piece(bench.name(), 1, 0, 'y')])])
      assert.deepEqual(await bodies(b.passing, log), ['x'])
    },
  },
]
