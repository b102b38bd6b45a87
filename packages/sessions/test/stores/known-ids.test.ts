import type { NewEntry, SessionStore } from '@provost/core'
import { memoryStore, sqliteStore } from '@provost/sessions'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const note = (id: string): NewEntry => ({
  ...{ at: 1, runId: 'run', step: 0, agent: 'a', v: 1 },
  ...{ id, type: 'memo', key: id, value: null },
})

async function take(store: SessionStore, log: string): Promise<number> {
  const lease = await store.lease(log, 'writer', 60_000)
  return lease === 'busy' ? 0 : lease.fence
}

describe.each([
  { name: 'in memory', store: memoryStore() },
  { name: 'in SQLite', store: sqliteStore(':memory:') },
])('a log $name', ({ store }) => {
  let logs = 0

  test('recognizes each of its ids and no others, for any number of ids', async () => {
    const ids = fc.uniqueArray(fc.string({ maxLength: 12 }), { minLength: 1, maxLength: 300 })
    await fc.assert(
      fc.asyncProperty(ids, fc.nat(), async (all, at) => {
        const log = `${++logs}`
        const there = all.slice(0, at % (all.length + 1))
        const first = await take(store, log)
        await store.append(log, there.map(note), { after: 0, fence: first })
        // A later writer reads the ids from the stored entries.
        await store.release(log, first)
        const fence = await take(store, log)
        const { offset, existing } = await store.append(log, all.map(note), { after: there.length, fence })
        expect(offset).toBe(all.length)
        expect(existing.map(({ id }) => id)).toEqual(there)
      }),
    )
  })

  test('recognizes ids in short appends that mix new and known ones, from several writers', async () => {
    const few = fc.array(fc.integer({ max: 30, min: 0 }).map(String), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(few, fc.boolean()), { maxLength: 30 }), async (appends) => {
        const log = `${++logs}`
        let fence = await take(store, log)
        const there: string[] = []
        for (const [ids, another] of appends) {
          if (another) {
            await store.release(log, fence)
            fence = await take(store, log)
          }
          const known = new Set(there)
          const { existing } = await store.append(log, ids.map(note), { after: there.length, fence })
          expect(existing.map(({ id }) => id)).toEqual(ids.filter((id) => known.has(id)))
          for (const id of ids) if (!there.includes(id)) there.push(id)
        }
        const stored: string[] = []
        for await (const { id } of store.read(log)) stored.push(id)
        expect(stored).toEqual(there)
      }),
    )
  })
})
