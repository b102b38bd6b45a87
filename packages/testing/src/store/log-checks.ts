import assert from 'node:assert/strict'

import type { Entry, Json, SessionStore } from '@provost/core'

import { all, hostileNames, idsOf, note, take } from './log-entry.ts'
import type { Bench, CheckDraft } from './subject.ts'

/** Opens a log and takes its lease. */
async function writing(bench: Bench): Promise<{ store: SessionStore; log: string; fence: number }> {
  const store = await bench.store()
  const log = bench.name()
  return { store, log, fence: await take(store, log) }
}

const refused = (work: Promise<unknown>, code: string): Promise<void> => assert.rejects(work, { code })

export const appendChecks: readonly CheckDraft[] = [
  {
    name: 'an append gives offsets from 1 without a gap, and entries come back frozen',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      assert.deepEqual(await store.append(log, [note('a'), note('b')], { after: 0, fence }), {
        offset: 2,
        existing: [],
      })
      assert.deepEqual(await store.append(log, [note('c')], { after: 2, fence }), { offset: 3, existing: [] })
      const entries = await all(store.read(log))
      assert.deepEqual(entries, [
        { ...note('a'), offset: 1 },
        { ...note('b'), offset: 2 },
        { ...note('c'), offset: 3 },
      ])
      assert.ok(entries.every(Object.isFrozen))
    },
  },
  {
    name: 'an append keeps frozen entries with a position unchanged',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      const placed = [Object.freeze({ ...note('a'), offset: 1 }), Object.freeze({ ...note('b'), offset: 2 })]
      await store.append(log, placed, { after: 0, fence })
      assert.deepEqual(await all(store.read(log)), placed)
    },
  },
  {
    name: 'an append of a known id adds no entry and returns the stored one',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      await store.append(log, [note('a', 'first')], { after: 0, fence })
      const again = await store.append(log, [note('a', 'second')], { after: 0, fence })
      assert.deepEqual(again, { offset: 1, existing: [{ ...note('a', 'first'), offset: 1 }] })
      assert.ok(again.existing.every(Object.isFrozen))
      assert.deepEqual(await idsOf(store, log), ['a'])
    },
  },
  {
    name: 'an append whose response was lost can be repeated, alone and with later entries',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      const batch = [note('a'), note('b')]
      await store.append(log, batch, { after: 0, fence })
      const again = await store.append(log, batch, { after: 0, fence })
      assert.deepEqual([again.offset, again.existing.map(({ id }) => id)], [2, ['a', 'b']])
      const more = await store.append(log, [...batch, note('c')], { after: 0, fence })
      assert.deepEqual([more.offset, more.existing.map(({ offset }) => offset)], [3, [1, 2]])
      assert.deepEqual(await idsOf(store, log), ['a', 'b', 'c'])
    },
  },
  {
    name: 'a writer that takes over knows the ids of earlier writers',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      await store.append(log, [note('a', 'first'), note('b')], { after: 0, fence })
      await store.release(log, fence)
      const later = await take(store, log, 'other')
      const { offset, existing } = await store.append(log, [note('a', 'late'), note('c')], { after: 2, fence: later })
      assert.deepEqual([offset, existing], [3, [{ ...note('a', 'first'), offset: 1 }]])
      assert.deepEqual(await idsOf(store, log), ['a', 'b', 'c'])
    },
  },
  {
    name: 'a duplicate id within one append is one entry',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      assert.equal((await store.append(log, [note('a'), note('a'), note('b')], { after: 0, fence })).offset, 2)
      assert.deepEqual(await idsOf(store, log), ['a', 'b'])
      await store.append(log, [note('c')], { after: 2, fence })
    },
  },
  ...[0, 1, 3, 99].map((after): CheckDraft => ({
    name: `an append behind a wrong offset (${after} of 2) is rejected and stores nothing`,
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      await store.append(log, [note('a'), note('b')], { after: 0, fence })
      await refused(store.append(log, [note('c'), note('d')], { after, fence }), 'wrong-offset')
      assert.deepEqual(await idsOf(store, log), ['a', 'b'])
      await store.append(log, [note('c')], { after: 2, fence })
      assert.deepEqual(await idsOf(store, log), ['a', 'b', 'c'])
    },
  })),
  {
    name: 'an append of no entries changes nothing',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      assert.deepEqual(await store.append(log, [], { after: 0, fence }), { offset: 0, existing: [] })
    },
  },
  {
    name: 'an append can hold many entries',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      const many = Array.from({ length: 1_000 }, (_, n) => note(`n${n}`))
      assert.equal((await store.append(log, many, { after: 0, fence })).offset, 1_000)
      assert.deepEqual(
        await idsOf(store, log),
        many.map(({ id }) => id),
      )
    },
  },
  {
    name: 'of two appends for one position only one is stored',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      const both = ['a', 'b'].map((id) => store.append(log, [note(id), note(`${id}/2`)], { after: 0, fence }))
      const settled = await Promise.allSettled(both)
      assert.deepEqual(settled.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
      const winner = settled[0]?.status === 'fulfilled' ? 'a' : 'b'
      assert.deepEqual(await idsOf(store, log), [winner, `${winner}/2`])
    },
  },
  {
    name: 'appends to many logs at once stay apart',
    async run(bench) {
      const store = await bench.store()
      const logs = Array.from({ length: 20 }, () => bench.name())
      await Promise.all(
        logs.map(async (log) => {
          const fence = await take(store, log)
          for (let n = 0; n < 5; n++) await store.append(log, [note(`${log}/${n}`)], { after: n, fence })
        }),
      )
      for (const log of logs) {
        assert.deepEqual(
          await idsOf(store, log),
          [0, 1, 2, 3, 4].map((n) => `${log}/${n}`),
        )
      }
    },
  },
  {
    name: 'known and new ids in any mixture give the same log as one by one',
    async run(bench) {
      const store = await bench.store()
      const log = bench.name()
      const fence = await take(store, log)
      const stored: string[] = []
      // A fixed seed: reproducible, without a pattern.
      let seed = 7
      const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
      for (let round = 0; round < 25; round++) {
        const keys = [...new Set(Array.from({ length: next(5) }, () => `k${next(40)}`))]
        const known = keys.filter((key) => stored.includes(key))
        const { offset, existing } = await store.append(
          log,
          keys.map((key) => note(key)),
          { after: stored.length, fence },
        )
        stored.push(...keys.filter((key) => !known.includes(key)))
        assert.equal(offset, stored.length)
        assert.deepEqual(existing.map(({ id }) => id).toSorted(), known.toSorted())
      }
      assert.deepEqual(await idsOf(store, log), stored)
    },
  },
]

const hostileValues: readonly Json[] = [
  'nul \0, half \ud800, separators \u2028\u2029, \u202ebidi, 🙂',
  '\r\n{"id":"forged"}\n',
  { ['__proto__']: { polluted: true }, constructor: { prototype: 1 } },
  [[], {}, null, true, 0, -1.5e-7, 2 ** 53],
  JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`),
]

export const valueChecks: readonly CheckDraft[] = [
  {
    name: 'logs with hostile names stay separate and complete',
    async run(bench) {
      const store = await bench.store()
      const logs = hostileNames.map((name) => `${bench.name()}${name}`)
      // Unprefixed names too: in other checks a prefix comes first.
      const bare = (await bench.place()).open()
      for (const [where, names] of [
        [store, logs],
        [await bare, hostileNames],
      ] as const) {
        for (const log of names)
          await where.append(log, [note(`in ${log}`)], { after: 0, fence: await take(where, log) })
        for (const log of names) assert.deepEqual(await idsOf(where, log), [`in ${log}`])
      }
    },
  },
  {
    name: 'hostile entry ids stay separate and are recognized',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      const entries = hostileNames.map((id) => note(id))
      await store.append(log, entries, { after: 0, fence })
      await store.release(log, fence)
      const later = await take(store, log)
      const again = await store.append(log, [...entries, note('last')], { after: entries.length, fence: later })
      assert.deepEqual([again.offset, again.existing.length], [entries.length + 1, entries.length])
      assert.deepEqual(await idsOf(store, log), [...hostileNames, 'last'])
    },
  },
  {
    name: 'any JSON value is read back unchanged',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      const entries = hostileValues.map((value, n) => note(`v${n}`, value))
      await store.append(log, entries, { after: 0, fence })
      assert.deepEqual(
        await all(store.read(log)),
        entries.map((entry, n) => ({ ...entry, offset: n + 1 })),
      )
      assert.equal(Reflect.get({}, 'polluted'), undefined)
    },
  },
  {
    name: 'a message of 10 MB is stored',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      const text = 'ä \n "'.repeat(1_700_000)
      await store.append(log, [note('a'), note('big', text), note('b')], { after: 0, fence })
      const [, big, last] = await all(store.read(log))
      assert.ok(big?.type === 'memo' && big.value === text, 'the text was changed')
      assert.equal(last?.id, 'b')
    },
  },
  {
    name: 'a log of 100,000 entries is written and read',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      const batch = 2_000
      const length = 100_000
      for (let after = 0; after < length; after += batch) {
        const entries = Array.from({ length: batch }, (_, n) => note(`n${after + n}`, after + n))
        await store.append(log, entries, { after, fence })
      }
      let expected = 0
      for await (const { offset } of store.read(log)) if (offset !== ++expected) break
      assert.equal(expected, length)
      assert.deepEqual(await idsOf(store, log, length - 2), [`n${length - 2}`, `n${length - 1}`])
    },
  },
]

export const readChecks: readonly CheckDraft[] = [
  {
    name: 'an unknown log is empty',
    async run(bench) {
      const store = await bench.store()
      assert.deepEqual(await idsOf(store, bench.name()), [])
    },
  },
  {
    name: 'reading starts after an offset',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      const entries = Array.from({ length: 200 }, (_, n) => note(`n${n + 1}`))
      await store.append(log, entries, { after: 0, fence })
      for (const after of [0, 1, 63, 64, 65, 199, 200, 999]) {
        assert.deepEqual(
          await idsOf(store, log, after),
          entries.slice(after).map(({ id }) => id),
        )
      }
    },
  },
  {
    name: 'reading ends where the log ended when it began',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      await store.append(log, [note('a'), note('b')], { after: 0, fence })
      const seen: Entry[] = []
      for await (const entry of store.read(log)) {
        seen.push(entry)
        if (seen.length === 1) await store.append(log, [note('c')], { after: 2, fence })
      }
      assert.deepEqual(
        seen.map(({ id }) => id),
        ['a', 'b'],
      )
    },
  },
  {
    name: 'a reader may stop early',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      await store.append(log, [note('a'), note('b')], { after: 0, fence })
      for await (const { id } of store.read(log)) {
        assert.equal(id, 'a')
        break
      }
      await store.append(log, [note('c')], { after: 2, fence })
      assert.deepEqual(await idsOf(store, log), ['a', 'b', 'c'])
    },
  },
]

export const leaseChecks: readonly CheckDraft[] = [
  {
    name: 'a lease admits one writer per log at a time',
    async run(bench) {
      const { store, log } = await writing(bench)
      assert.equal(await store.lease(log, 'other', 60_000), 'busy')
      assert.notEqual(await store.lease(bench.name(), 'other', 60_000), 'busy')
    },
  },
  {
    name: 'of many concurrent lease requests one succeeds',
    async run(bench) {
      const store = await bench.store()
      const log = bench.name()
      const owners = Array.from({ length: 8 }, (_, n) => store.lease(log, `owner ${n}`, 60_000))
      assert.equal((await Promise.all(owners)).filter((lease) => lease !== 'busy').length, 1)
    },
  },
  {
    name: 'a lease is renewed by its owner and keeps its fence',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      assert.equal(await take(store, log), fence)
      await store.append(log, [note('a')], { after: 0, fence })
      assert.equal(await take(store, log), fence)
      await store.append(log, [note('b')], { after: 1, fence })
    },
  },
  {
    name: 'an expired lease can be taken; the fence rises, and the zombie can no longer write',
    async run(bench) {
      const store = await bench.store()
      const log = bench.name()
      const fence = await take(store, log, 'zombie', 5)
      await store.append(log, [note('a')], { after: 0, fence })
      let later = await store.lease(log, 'other', 60_000)
      while (later === 'busy') {
        await new Promise((resolve) => setTimeout(resolve, 2))
        later = await store.lease(log, 'other', 60_000)
      }
      assert.ok(later.fence > fence)
      assert.equal(await store.lease(log, 'zombie', 60_000), 'busy')
      await refused(store.append(log, [note('b')], { after: 1, fence }), 'fenced')
      await refused(store.append(log, [note('a')], { after: 0, fence }), 'fenced')
      await store.append(log, [note('c')], { after: 1, fence: later.fence })
      await refused(store.append(log, [note('d')], { after: 2, fence }), 'fenced')
      assert.deepEqual(await idsOf(store, log), ['a', 'c'])
    },
  },
  {
    name: 'a lease is released by its fence only, any number of times',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      await store.release(log, fence - 1)
      assert.equal(await store.lease(log, 'other', 60_000), 'busy')
      await store.release(log, fence)
      await store.release(log, fence)
      assert.ok((await take(store, log, 'other')) > fence)
      await store.release(bench.name(), 1)
    },
  },
  {
    name: 'a released lease does not permit an append',
    async run(bench) {
      const { store, log, fence } = await writing(bench)
      await store.release(log, fence)
      await refused(store.append(log, [note('a')], { after: 0, fence }), 'fenced')
    },
  },
  {
    name: 'an append without a lease is rejected',
    async run(bench) {
      const store = await bench.store()
      await refused(store.append(bench.name(), [note('a')], { after: 0, fence: 0 }), 'fenced')
    },
  },
]
