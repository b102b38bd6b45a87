import type { NewEntry } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const note = (id: string): NewEntry => ({
  ...{ at: 1, runId: 'run', step: 0, agent: 'a', v: 1 },
  ...{ id, type: 'memo', key: id, value: null },
})

test('a log knows each id that it has, however many, and takes no other for one of them', async () => {
  const ids = fc.uniqueArray(fc.string({ maxLength: 12 }), { minLength: 1, maxLength: 300 })
  await fc.assert(
    fc.asyncProperty(ids, fc.nat(), async (all, at) => {
      const store = memoryStore()
      const lease = await store.lease('s', 'writer', 60_000)
      const fence = lease === 'busy' ? 0 : lease.fence
      const there = all.slice(0, at % (all.length + 1))
      for (const [after, id] of there.entries()) await store.append('s', [note(id)], { after, fence })
      const { offset, existing } = await store.append('s', all.map(note), { after: there.length, fence })
      expect(offset).toBe(all.length)
      expect(existing.map(({ id }) => id)).toEqual(there)
    }),
    { numRuns: 50 },
  )
})

test('a log knows what it was given by few at a time, new and known ones mixed', async () => {
  const few = fc.array(fc.integer({ max: 30, min: 0 }).map(String), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(fc.array(few, { maxLength: 30 }), async (appends) => {
      const store = memoryStore()
      const lease = await store.lease('s', 'writer', 60_000)
      const fence = lease === 'busy' ? 0 : lease.fence
      const there: string[] = []
      for (const ids of appends) {
        const known = new Set(there)
        const { existing } = await store.append('s', ids.map(note), { after: there.length, fence })
        expect(existing.map(({ id }) => id)).toEqual(ids.filter((id) => known.has(id)))
        for (const id of ids) if (!there.includes(id)) there.push(id)
      }
      const stored: string[] = []
      for await (const { id } of store.read('s')) stored.push(id)
      expect(stored).toEqual(there)
    }),
    { numRuns: 50 },
  )
})
