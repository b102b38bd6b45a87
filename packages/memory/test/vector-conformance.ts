import { untrustedLabel } from '@provost/core'
import { createMemory } from '@provost/memory'
import type { Memory, MemoryHit, MemoryStore, VectorEngine } from '@provost/memory'
import fc from 'fast-check'
import { expect, test } from 'vitest'

/** What tests of embeddings need of a kind of store. */
export interface VectorPlace {
  /** Each statement goes to another process: what is done many times is done fewer times there. */
  readonly remote?: true
  readonly engine: VectorEngine
  open(): MemoryStore
  /** Everything that is kept in the store that was opened last, as text. */
  dump(): Promise<string>
  /** How a vector looks in that text. */
  written(vector: Float32Array): string
}

const full = process.env['PROVOST_TEST_FULL'] === '1'
type Principal = { readonly id: string }
let pairs = 0
const web = untrustedLabel('web')

type Vector = readonly number[]

const texts = (hits: readonly MemoryHit[]): readonly string[] => hits.map(({ text }) => text)

/** What every way to compare embeddings has to bear. */
export function vectorConformance(place: VectorPlace): void {
  const scarce = place.remote && !full
  /**
   * Each has two users of its own.
   *
   * @param means what each text means: no word is in two of them.
   */
  async function using<T>(
    means: Readonly<Record<string, Vector>>,
    work: (memory: Memory, ann: Principal, bob: Principal, faults: readonly unknown[]) => Promise<T>,
  ): Promise<T> {
    const faults: unknown[] = []
    const memory = createMemory({
      store: place.open(),
      embedder: async (all) => all.map((text) => means[text.replace(/\d+$/, '')] ?? means[text] ?? [1, 1]),
      onFault: (error) => void faults.push(error),
    })
    try {
      return await work(memory, { id: `ann${++pairs}` }, { id: `bob${pairs}` }, faults)
    } finally {
      await memory.close()
    }
  }

  test('are compared by what the database has', async () => {
    const store = place.open()
    expect(await store.comparedBy?.()).toBe(place.engine)
    await store.close()
  })

  test('find what is said in other words, behind what is said in the same', () =>
    using({ hound: [1, 0.1], dog: [1, 0.2], boat: [0.1, 1], 'my dog': [1, 0.1] }, async (memory, principal) => {
      for (const text of ['hound', 'dog', 'boat']) await memory.remember(text, { source: 's', principal })
      const hits = await memory.recall('my dog', { principal })
      expect(texts(hits)).toEqual(['dog', 'hound', 'boat'])
      expect(hits[1]?.why).toMatchObject({ own: 0, words: [] })
      expect(hits[1]?.why.similarity).toBeCloseTo(1, 5)
      expect(hits[2]?.why.similarity).toBeCloseTo(0.198, 3)
    }))

  test('what is nearer elsewhere, in quarantine, at another time or forgotten does not stand in the way', () => {
    const near = [1, 0.01]
    const means = { far: [0.01, 1], once: near, other: near, wait: near, over: near, gone: near, query: near }
    return using(means, async (memory, ann, bob) => {
      const mine = { source: 's', principal: ann }
      await memory.remember('far', mine)
      await memory.remember('once', { ...mine, validFrom: 10, validTo: 20 })
      const doomed: string[] = []
      for (let i = 0; i < (scarce ? 3 : 31); i++) {
        await memory.remember(`other${i}`, { source: 's', principal: bob })
        await memory.remember(`wait${i}`, { ...mine, label: web })
        await memory.remember(`over${i}`, { ...mine, validFrom: 20, validTo: 30 })
        doomed.push((await memory.remember(`gone${i}`, mine)).id)
      }
      for (const id of doomed) await memory.forget(id)
      expect(texts(await memory.recall('query', { principal: ann }))).toEqual(['far'])
      expect(texts(await memory.recall('query', { principal: ann, at: 15 }))).toEqual(['once'])
    })
  })

  test('of any items, those that are in reach and hold are found, the nearest first', () => {
    const item = fc.record({
      x: fc.integer({ min: -3, max: 3 }),
      y: fc.integer({ min: -3, max: 3 }),
      whose: fc.constantFrom(0, 1),
      trusted: fc.boolean(),
      key: fc.constantFrom(undefined, 'k'),
      from: fc.integer({ min: 0, max: 9 }),
      length: fc.option(fc.integer({ min: 1, max: 5 })),
      later: fc.constantFrom('stays', 'stays', 'forgotten', 'confirmed'),
    })
    const play = fc.asyncProperty(
      fc.array(item, { maxLength: scarce ? 8 : 14 }),
      fc.integer({ min: 0, max: 12 }),
      (items, at) => {
        const names = items.map((_, i) => `n${String.fromCodePoint(97 + i)}`)
        const means = Object.fromEntries(items.map(({ x, y }, i): [string, Vector] => [names[i] ?? '', [x, y]]))
        return using({ ...means, query: [1, 2] }, async (memory, ann, bob, faults) => {
          const ids: string[] = []
          for (const [i, { whose, trusted, key, from, length }] of items.entries()) {
            const { id } = await memory.remember(names[i] ?? '', {
              source: 's',
              principal: whose === 0 ? ann : bob,
              validFrom: from,
              ...(length !== null && { validTo: from + length }),
              ...(key !== undefined && { key }),
              ...(!trusted && { label: web }),
            })
            ids.push(id)
          }
          for (const [i, { later, trusted }] of items.entries()) {
            if (later === 'forgotten') await memory.forget(ids[i] ?? '')
            if (later === 'confirmed' && !trusted) await memory.confirm(ids[i] ?? '', { by: 'bob' })
          }
          for (const principal of [ann, bob]) {
            const reach = { principal, limit: 100 } as const
            const known = await memory.list({ ...reach, states: ['live', 'old'] })
            const held = known.filter(({ validFrom, validTo = Infinity }) => validFrom <= at && validTo > at)
            const near = held.flatMap(({ text }) => {
              const [x = 0, y = 0] = means[text] ?? []
              const similarity = (x + 2 * y) / Math.sqrt(5 * (x * x + y * y))
              return similarity > 0.001 ? [{ text, similarity }] : []
            })
            const hits = await memory.recall('query', { ...reach, at })
            const found = hits.map(({ text, why }) => ({ text, similarity: why.similarity ?? NaN }))
            expect(texts(hits).toSorted()).toEqual(near.map(({ text }) => text).toSorted())
            for (const [i, { text, similarity }] of found.entries()) {
              expect(similarity).toBeCloseTo(near.find((one) => one.text === text)?.similarity ?? NaN, 5)
              expect(similarity).toBeLessThanOrEqual((found[i - 1]?.similarity ?? 1) + 1e-6)
            }
          }
          expect(faults).toEqual([])
        })
      },
    )
    return fc.assert(play, { numRuns: full ? 100 : scarce ? 2 : 3 })
  })

  test('of other lengths are not compared, and zeros are like nothing', () =>
    using(
      { short: [1], long: [1, 0, 0], zero: [0, 0], fit: [1, 0], query: [1, 0] },
      async (memory, principal, _, faults) => {
        for (const text of ['short', 'long', 'zero', 'fit']) await memory.remember(text, { source: 's', principal })
        expect(await memory.recall('query', { principal })).toMatchObject([{ text: 'fit', why: { similarity: 1 } }])
        expect(await memory.recall('zero', { principal })).toMatchObject([{ text: 'zero', why: { similarity: 0 } }])
        expect(faults).toEqual([])
      },
    ))

  test('go with their items, out of every table and file', () => {
    const [mine, kept] = [Float32Array.of(0.28515625, 2), Float32Array.of(0.6484375, 3)]
    return using({ mine: [...mine], kept: [...kept] }, async (memory, ann, bob) => {
      for (let i = 0; i < 5; i++) {
        await memory.remember(`mine${i}`, { source: 's', principal: ann })
        await memory.remember(`kept${i}`, { source: 's', principal: bob })
      }
      expect(await place.dump()).toContain(place.written(mine))
      await memory.forget({ principal: ann })
      expect(await place.dump()).not.toContain(place.written(mine))
      expect(await place.dump()).toContain(place.written(kept))
    })
  })

  test('of what was forgotten before they were made are not kept', async () => {
    const vector = Float32Array.of(0.28515625, 2)
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const embedder = async (): Promise<readonly Vector[]> => {
      asked.resolve()
      await answer.promise
      return [[...vector]]
    }
    const memory = createMemory({ store: place.open(), embedder })
    const ann = { id: `ann${++pairs}` }
    const remembering = memory.remember('to be forgotten', { source: 's', principal: ann })
    await asked.promise
    expect(await memory.forget({ principal: ann })).toBe(1)
    answer.resolve()
    await remembering
    expect(await place.dump()).not.toContain(place.written(vector))
    await memory.close()
  })
}
