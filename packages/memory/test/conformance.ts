import type { Label } from '@provost/core'
import { untrustedLabel } from '@provost/core'
import { createMemory } from '@provost/memory'
import type { Memory, MemoryScope, MemoryStore } from '@provost/memory'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

/** What tests need of a kind of store. */
export interface MemoryPlace {
  /** Each statement goes to another process: what is done many times is done fewer times there. */
  readonly remote?: true
  /**
   * A store that is empty, and stays when it is opened again under the same name. One without a name ends with its test,
   * and may be whatever is had quickly.
   */
  open(name?: string): MemoryStore
  /** Everything that is kept under a name, as text: tables, indexes, files. */
  dump(name: string): Promise<string>
}

const ann = { id: 'ann' }
const day = 86_400_000
const web: Label = untrustedLabel('web')
/** NUL and halves of surrogate pairs included. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 127 }), fc.integer({ min: 0, max: 0xffff })), { maxLength: 60 })
  .map((units) => String.fromCharCode(...units))
const full = process.env['PROVOST_TEST_FULL'] === '1'
let names = 0

/** What every store of a memory has to bear. */
export function memoryConformance(place: MemoryPlace): void {
  const scarce = place.remote && !full
  const fresh = (more: Partial<Parameters<typeof createMemory>[0]> = {}): Memory =>
    createMemory({ store: place.open(), ...more })

  async function using<T>(memory: Memory, work: (memory: Memory) => Promise<T>): Promise<T> {
    try {
      return await work(memory)
    } finally {
      await memory.close()
    }
  }
  const texts = (items: readonly { readonly text: string }[]): readonly string[] => items.map(({ text }) => text)

  test('finds a text by its words, in any form of them, and says why', () =>
    using(fresh(), async (memory) => {
      await memory.remember('Ann went camping in the mountains with two friends.', { source: 'chat', principal: ann })
      await memory.remember('Ann bakes bread on Sundays.', { source: 'chat', principal: ann })
      const [hit, ...rest] = await memory.recall('Who camped on a mountain?', { principal: ann })
      expect(rest).toEqual([])
      expect(hit?.text).toContain('camping')
      expect(hit?.why).toMatchObject({ words: ['camp', 'mountain'], neighbours: 0, session: 0 })
      expect(hit?.score).toBeGreaterThan(0)
    }))

  test('finds an answer by the words of the question two turns earlier, and no turn of another session', () =>
    using(fresh(), async (memory) => {
      const say = (text: string, sessionId: string): Promise<unknown> =>
        memory.remember(text, { source: 'chat', kind: 'episode', sessionId, principal: ann })
      await say('Ann: Guess which city I visited in spring!', 'trip')
      await say('Ben: Hm, no idea. Give me a hint.', 'trip')
      await say('Ann: Lisbon.', 'trip')
      await say('Ann: The oven is broken.', 'kitchen')
      const hits = await memory.recall('Which city was visited in spring?', { principal: ann })
      expect(texts(hits)).toEqual([
        'Ann: Guess which city I visited in spring!',
        'Ben: Hm, no idea. Give me a hint.',
        'Ann: Lisbon.',
      ])
      expect(hits[2]?.why).toMatchObject({ words: [], own: 0 })
      expect(hits[2]?.why.neighbours).toBeGreaterThan(0)
    }))

  test('other scripts are found by their words too', () =>
    using(fresh(), async (memory) => {
      for (const text of ['東京タワーに行きました', 'Ära der Größe', 'привет дорогой мир'])
        await memory.remember(text, { source: 'chat' })
      const asked = ['東京', 'Grösse Größe', 'МИР']
      const found = await Promise.all(asked.map((query) => memory.recall(query)))
      expect(found.map((hits) => hits.length)).toEqual([1, 1, 1])
    }))

  test('words that say nothing find nothing', () =>
    using(fresh(), async (memory) => {
      await memory.remember('It is what it is, and that was that.', { source: 'chat' })
      expect(await memory.recall('what is it that was')).toEqual([])
      expect(await memory.recall('')).toEqual([])
    }))

  test('a newer fact with the same key takes the place of the old one, which is found by its time', () =>
    using(fresh(), async (memory) => {
      const at = Date.parse('2026-03-01')
      const init = { source: 'crm', principal: ann, key: 'address' }
      const first = await memory.remember('Ann lives in Bern.', { ...init, validFrom: at })
      const second = await memory.remember('Ann lives in Oslo.', { ...init, validFrom: at + 10 * day })
      expect(texts(await memory.recall('Where does Ann live?', { principal: ann }))).toEqual(['Ann lives in Oslo.'])
      const then = await memory.recall('Where does Ann live?', { principal: ann, at: at + day })
      expect(then).toMatchObject([{ text: 'Ann lives in Bern.', validTo: at + 10 * day, supersededBy: second.id }])
      expect(await memory.recall('Where does Ann live?', { principal: ann, at: at - day })).toEqual([])
      expect(await memory.explain(second.id)).toMatchObject({ state: 'live', before: [{ id: first.id }], after: [] })
      expect(await memory.explain(first.id)).toMatchObject({ state: 'old', before: [], after: [{ id: second.id }] })
    }))

  test('what held at a time is found however often it was superseded since', () =>
    using(fresh(), async (memory) => {
      const init = { source: 'crm', principal: ann, key: 'menu' }
      for (let n = 1; n <= (scarce ? 8 : 60); n++)
        await memory.remember(`menu number ${n}`, { ...init, validFrom: n * day })
      const then = await memory.recall('menu', { principal: ann, at: 5.5 * day })
      expect(texts(then)).toEqual(['menu number 5'])
    }))

  test('an older fact that arrives late does not displace what holds since later', () =>
    using(fresh(), async (memory) => {
      const init = { source: 'crm', principal: ann, key: 'address' }
      const now = await memory.remember('Ann lives in Oslo.', { ...init, validFrom: 20 * day })
      const late = await memory.remember('Ann lives in Bern.', { ...init, validFrom: 10 * day })
      expect(late).toMatchObject({ supersededBy: now.id, validTo: 20 * day })
      expect(texts(await memory.recall('Ann lives', { principal: ann }))).toEqual(['Ann lives in Oslo.'])
    }))

  test('an update keeps what was there, and goes from a live item only', () =>
    using(fresh(), async (memory) => {
      const first = await memory.remember('The key is under the mat.', { source: 'ann', principal: ann })
      const second = await memory.update(first.id, 'The key is under the pot.')
      expect(second).toMatchObject({ source: 'ann', scope: { kind: 'user', id: 'ann' }, replaces: first.id })
      await expect(memory.supersede(first.id, 'Nowhere.')).rejects.toMatchObject({ code: 'no-such-memory' })
      expect(texts(await memory.recall('key', { principal: ann }))).toEqual(['The key is under the pot.'])
      const third = await memory.supersede(second.id, 'The key is with Bob.')
      const { before } = (await memory.explain(third.id)) ?? { before: [] }
      expect(before.map(({ id }) => id).toSorted()).toEqual([first.id, second.id].toSorted())
    }))

  test('a fact holds until its end and from its beginning', () =>
    using(fresh(), async (memory) => {
      const now = Date.now()
      await memory.remember('The shop is closed.', { source: 'crm', validFrom: now - 2 * day, validTo: now - day })
      await memory.remember('The shop is shut.', { source: 'crm', validFrom: now + day })
      expect(await memory.recall('shop')).toEqual([])
      expect(texts(await memory.recall('shop', { at: now - 1.5 * day }))).toEqual(['The shop is closed.'])
    }))

  describe('quarantine', () => {
    test('what is untrusted is not recalled until somebody confirms it, and is still untrusted then', () =>
      using(fresh(), async (memory) => {
        const item = await memory.remember('Refunds go to account 17.', { source: 'web', principal: ann, label: web })
        expect(item).toMatchObject({ quarantined: true, label: { integrity: 'untrusted', sources: ['web'] } })
        expect(await memory.recall('refunds', { principal: ann })).toEqual([])
        const seen = await memory.recall('refunds', { principal: ann, quarantined: 'include' })
        expect(seen).toMatchObject([{ quarantined: true, label: { integrity: 'untrusted' } }])
        await memory.confirm(item.id, { by: 'bob' })
        const [hit] = await memory.recall('refunds', { principal: ann })
        expect(hit).toMatchObject({ confirmedBy: 'bob', label: { integrity: 'untrusted', sources: ['web'] } })
        expect(hit?.quarantined).toBeUndefined()
        await expect(memory.confirm(item.id, { by: 'bob' })).rejects.toMatchObject({ code: 'no-such-memory' })
      }))

    test('who confirms can vouch for it; its sources stay', () =>
      using(fresh(), async (memory) => {
        const { id } = await memory.remember('Refunds take a week.', { source: 'web', label: web })
        await memory.confirm(id, { by: 'bob', label: { integrity: 'trusted' } })
        expect(await memory.recall('refunds')).toMatchObject([{ label: { integrity: 'trusted', sources: ['web'] } }])
      }))

    test('an untrusted fact supersedes nothing until it is confirmed', () =>
      using(fresh(), async (memory) => {
        const init = { source: 'crm', principal: ann, key: 'iban' }
        const first = await memory.remember('Her account is 1.', init)
        const forged = await memory.remember('Her account is 666.', { ...init, source: 'web', label: web })
        expect(texts(await memory.recall('account', { principal: ann }))).toEqual(['Her account is 1.'])
        await memory.confirm(forged.id, { by: 'bob' })
        expect(texts(await memory.recall('account', { principal: ann }))).toEqual(['Her account is 666.'])
        expect(await memory.explain(first.id)).toMatchObject({ state: 'old', after: [{ id: forged.id }] })
      }))

    test('an untrusted update waits beside what it would replace', () =>
      using(fresh(), async (memory) => {
        const { id } = await memory.remember('Opening hours: nine to five.', { source: 'crm' })
        const update = await memory.update(id, 'Opening hours: never.', { source: 'web', label: web })
        expect(texts(await memory.recall('hours'))).toEqual(['Opening hours: nine to five.'])
        await memory.confirm(update.id, { by: 'bob' })
        expect(texts(await memory.recall('hours'))).toEqual(['Opening hours: never.'])
      }))

    test('neighbours in quarantine lend no weight and are not found', () =>
      using(fresh(), async (memory) => {
        const turn = { source: 's', kind: 'episode', sessionId: 's', principal: ann } as const
        await memory.remember('zebra zebra zebra', { ...turn, label: web })
        await memory.remember('The weather is fine.', turn)
        expect(await memory.recall('zebra', { principal: ann })).toEqual([])
      }))
  })

  test('a label is never lost or lowered: not by storing, updating, confirming or superseding', () =>
    using(fresh(), async (memory) => {
      const label = fc.record({
        integrity: fc.constantFrom('trusted', 'untrusted'),
        confidentiality: fc.constantFrom('public', 'internal', 'secret'),
        sources: fc.uniqueArray(fc.stringMatching(/^[a-z]{1,5}$/), { maxLength: 4 }).map((all) => all.toSorted()),
      })
      let n = 0
      const store = fc.asyncProperty(label, fc.option(fc.stringMatching(/^[a-z]$/)), async (one, key) => {
        const init = { source: 'x', label: one, ...(key !== null && { key }) } as const
        const stored = await memory.remember(`marker m${++n}`, init)
        expect(stored.label).toEqual(one)
        const options = { quarantined: 'include', at: Date.now() + 1, limit: 100 } as const
        const found = (await memory.recall(`m${n}`, options)).find(({ id }) => id === stored.id)
        expect(found?.label).toEqual(one)
        const trusted = one.integrity === 'trusted'
        expect((await memory.recall(`m${n}`)).length).toBe(trusted ? 1 : 0)
        const confirmed = trusted ? stored : await memory.confirm(stored.id, { by: 'bob' })
        expect(confirmed.label).toEqual(one)
        expect((await memory.explain(stored.id))?.item.label).toEqual(one)
      })
      await fc.assert(store, { numRuns: full ? 200 : scarce ? 4 : 10 })
    }))

  describe('scopes', () => {
    const scopes: readonly MemoryScope[] = [
      { kind: 'user', id: 'ann' },
      { kind: 'user', id: 'bob' },
      { kind: 'user', id: `ann' or '1'='1` },
      { kind: 'user', id: 'ann%' },
      { kind: 'session', id: 'ann' },
      { kind: 'agent', id: 'ann' },
      { kind: 'shared', id: 'ann' },
      { kind: 'shared' },
    ]

    test('nothing crosses from one into another, by search, list or key', () =>
      using(fresh(), async (memory) => {
        for (const scope of scopes)
          await memory.remember(`pin of ${JSON.stringify(scope)}`, { source: 'crm', scope, key: 'pin' })
        for (const scope of scopes) {
          const own = [`pin of ${JSON.stringify(scope)}`]
          expect(texts(await memory.recall('pin', { scopes: [scope] }))).toEqual(own)
          expect(texts(await memory.list({ scopes: [scope], key: 'pin' }))).toEqual(own)
        }
        expect(texts(await memory.recall('pin'))).toEqual([`pin of ${JSON.stringify({ kind: 'shared' })}`])
        const reach = await memory.recall('pin', { principal: ann, sessionId: 'ann', agent: 'ann' })
        expect(reach).toHaveLength(4)
      }))

    test("another's words do not weigh in a score", () =>
      using(fresh(), async (memory) => {
        const ask = async (): Promise<number | undefined> => (await memory.recall('rare', { principal: ann }))[0]?.score
        await memory.remember('a rare word', { source: 'chat', principal: ann })
        const before = await ask()
        for (let i = 0; i < (scarce ? 5 : 20); i++)
          await memory.remember('rare rare', { source: 'chat', principal: { id: 'bob' } })
        expect(await ask()).toBe(before)
      }))

    test('an id that is taken elsewhere gives nothing away', () =>
      using(fresh(), async (memory) => {
        await memory.remember('secret of Ann', { id: 'same', source: 'chat', principal: ann })
        const guess = memory.remember('mine', { id: 'same', source: 'chat', principal: { id: 'bob' } })
        await expect(guess).rejects.toMatchObject({ code: 'invalid-memory' })
        await expect(guess).rejects.not.toThrow(/secret of Ann/)
      }))

    test('ids that a database would mix up are refused', () =>
      using(fresh(), async (memory) => {
        for (const id of ['', 'a\0b', '\uD800', 'x'.repeat(513)]) {
          const put = memory.remember('x', { source: 's', principal: { id } })
          await expect(put).rejects.toMatchObject({ code: 'invalid-scope' })
          await expect(memory.recall('x', { principal: { id } })).rejects.toMatchObject({ code: 'invalid-scope' })
        }
      }))
  })

  describe('forgetting', () => {
    test('a scope is gone from every table, index and file; others stay', async () => {
      const name = `place${++names}`
      const memory = createMemory({ store: place.open(name), embedder: async (all) => all.map(() => [1, 2, 3]) })
      await using(memory, async () => {
        const turn = { source: 'quuxsource', principal: { id: 'annquux' }, sessionId: 'quuxsession' } as const
        const each = scarce ? 6 : 30
        for (let i = 0; i < each; i++) {
          await memory.remember(`marker quuxword${i} of the past`, { ...turn, kind: 'episode' })
          await memory.remember(`bob likes tea number ${i}`, { source: 'chat', principal: { id: 'bob' } })
        }
        await memory.remember('quuxold', { ...turn, key: 'quuxkey' })
        await memory.remember('quuxnew', { ...turn, key: 'quuxkey' })
        await memory.remember('quuxquarantine', { ...turn, label: untrustedLabel('quuxweb') })
        expect(await place.dump(name)).toContain('quux')
        expect(await memory.forget({ principal: { id: 'annquux' } })).toBe(each + 3)
        expect(await place.dump(name)).not.toContain('quux')
        expect(await memory.recall('quuxword3', { principal: { id: 'annquux' } })).toEqual([])
        expect(await memory.list({ principal: { id: 'bob' } })).toHaveLength(each)
        expect(await memory.recall('tea 5', { principal: { id: 'bob' } })).not.toEqual([])
      })
      expect(await place.dump(name)).not.toContain('quux')
    })

    test('one item is gone, and those around it are found as before', async () => {
      const name = `place${++names}`
      await using(createMemory({ store: place.open(name) }), async (memory) => {
        const turn = { source: 's', kind: 'episode', sessionId: 's', principal: ann } as const
        const [one, two, three] = [
          await memory.remember('red balloon', turn),
          await memory.remember('blue xylophonequux', turn),
          await memory.remember('green balloon', turn),
        ]
        expect(await memory.forget(two.id)).toBe(1)
        expect(await memory.forget(two.id)).toBe(0)
        expect(await place.dump(name)).not.toContain('quux')
        const left = await memory.recall('balloon', { principal: ann })
        expect(left.map(({ id }) => id).toSorted()).toEqual([one.id, three.id].toSorted())
        expect((await memory.remember('after', turn)).turn).toBe(4)
      })
    })

    test('what superseded something and is forgotten leaves no trace there', async () => {
      const name = `place${++names}`
      await using(createMemory({ store: place.open(name) }), async (memory) => {
        const old = await memory.remember('first', { source: 's', key: 'k' })
        await memory.remember('second', { id: 'idquux', source: 's', key: 'k' })
        await memory.forget('idquux')
        expect(await place.dump(name)).not.toContain('quux')
        expect(await memory.explain(old.id)).toMatchObject({ state: 'old', after: [] })
      })
    })
  })

  describe('hostile input', () => {
    test('no query language is spoken in a question', () =>
      using(fresh(), async (memory) => {
        await memory.remember('Ann likes tea.', { source: 's', principal: ann })
        await memory.remember('Bob likes coffee.', { source: 's', principal: { id: 'bob' } })
        const hostile = [
          'tea" OR "coffee',
          'tea) OR (1xcoffe',
          'terms:tea NOT x*',
          'NEAR(tea coffee, 5)',
          `tea' | 'coffee`,
          'tea:* & !x <-> y',
          "'; drop table items; --",
          '^tea AND -coffee',
          '2xcoffe 1xtea tea',
          '\0tea\uD800',
        ]
        for (const query of hostile) {
          const found = texts(await memory.recall(query, { principal: ann }))
          expect({ query, found }).toEqual({ query, found: query.includes('tea') ? ['Ann likes tea.'] : [] })
        }
        const any = fc.asyncProperty(anyText, async (query) => {
          for (const { scope } of await memory.recall(query, { principal: ann }))
            expect(scope).toEqual({ kind: 'user', id: 'ann' })
        })
        await fc.assert(any, { numRuns: full ? 200 : scarce ? 5 : 12 })
      }))

    test('any text comes back as it was, but for what no database can hold', () =>
      using(fresh(), async (memory) => {
        const any = fc.asyncProperty(anyText, async (text) => {
          const { id } = await memory.remember(text, { source: 's' })
          const back = (await memory.explain(id))?.item.text
          expect(back).toBe(text.toWellFormed().replaceAll('\0', '\uFFFD'))
        })
        await fc.assert(any, { numRuns: full ? 200 : scarce ? 5 : 12 })
      }))

    test('items that are too long are refused, and long questions are answered', () =>
      using(fresh({ maxChars: 100_000 }), async (memory) => {
        const refused = memory.remember('x'.repeat(100_001), { source: 's' })
        await expect(refused).rejects.toMatchObject({ code: 'memory-too-long' })
        await memory.remember(`${'長い文章'.repeat(full ? 10_000 : 2_000)} needle`, { source: 's' })
        await memory.remember(
          `needle ${Array.from({ length: full ? 15_000 : 3_000 }, (_, i) => `w${i}`).join(' ')}`.slice(0, 100_000),
          { source: 's' },
        )
        expect((await memory.recall(`needle ${'w1 '.repeat(full ? 200_000 : 50_000)}`)).length).toBeGreaterThan(0)
      }))
  })

  test('turns around what was asked for are found with it, nearest first', () =>
    using(fresh(), async (memory) => {
      const said = (sessionId: string, text: string) =>
        memory.remember(text, { source: 'chat', kind: 'episode', sessionId, principal: ann })
      await said('one', 'What is the name of your kitten?')
      await said('one', 'She is called Minka.')
      await said('one', 'Lovely.')
      for (let i = 0; i < 10; i++) await said('two', `Nothing to see in turn ${i}.`)
      const [question, answer] = await memory.recall('name of the kitten', { principal: ann })
      expect(question?.text).toContain('kitten')
      expect(answer?.text).toBe('She is called Minka.')
      expect(answer?.why).toMatchObject({ words: [], own: 0 })
      expect(answer?.why.neighbours).toBeGreaterThan(0)
    }))

  test('a session that speaks of it lifts its turns above the same words elsewhere', () =>
    using(fresh(), async (memory) => {
      const said = (sessionId: string, text: string) =>
        memory.remember(text, { source: 'chat', kind: 'episode', sessionId, principal: ann })
      await said('holiday', 'The beach was wonderful.')
      await said('holiday', 'Fish every evening.')
      await said('holiday', 'And the beach again at night.')
      await said('work', 'Fish every evening.')
      const hits = await memory.recall('fish on the beach', { principal: ann })
      const at = (sessionId: string): number =>
        hits.findIndex((hit) => hit.sessionId === sessionId && hit.text.startsWith('Fish'))
      expect(at('holiday')).toBeLessThan(at('work'))
      expect(hits[at('holiday')]?.why.session).toBeGreaterThan(hits[at('work')]?.why.session ?? 0)
    }))

  describe('embeddings', () => {
    test('that fail are reported, and everything is found by its words', async () => {
      const faults: unknown[] = []
      const broken = async (): Promise<never> => {
        throw new Error('no network')
      }
      const options = { embedder: broken, reranker: broken, onFault: (error: unknown) => void faults.push(error) }
      await using(fresh(options), async (memory) => {
        await memory.remember('Ann likes tea.', { source: 's' })
        await memory.remember('Ann likes black tea.', { source: 's' })
        expect(await memory.recall('tea')).toHaveLength(2)
      })
      expect(faults).toHaveLength(4)
    })

    test('a reranker has the last word on the order', () =>
      using(fresh({ reranker: async (_, all) => all.map((text) => text.length) }), async (memory) => {
        for (const text of ['tea', 'tea, and much else besides', 'tea or so'])
          await memory.remember(text, { source: 's' })
        expect(texts(await memory.recall('tea'))).toEqual(['tea, and much else besides', 'tea or so', 'tea'])
      }))
  })

  test('what is remembered outlives the store, and is known again by its id', async () => {
    const name = `place${++names}`
    const init = { id: 'one', source: 'crm', principal: ann, key: 'tea', kind: 'note' } as const
    const stored = await using(createMemory({ store: place.open(name) }), (memory) =>
      memory.remember('tea first', init),
    )
    await using(createMemory({ store: place.open(name) }), async (memory) => {
      expect(await memory.remember('something else', init)).toEqual(stored)
      const { score: _, why: __, ...found } = (await memory.recall('tea', { principal: ann }))[0] ?? {}
      expect(found).toEqual(stored)
    })
  })

  test('lists are given in pages', () =>
    using(fresh(), async (memory) => {
      for (let i = 0; i < 5; i++) await memory.remember(`item ${i}`, { source: 's' })
      const first = await memory.list({ limit: 3 })
      const rest = await memory.list({ limit: 3, after: first.at(-1)?.id ?? '' })
      expect(texts([...first, ...rest])).toEqual([0, 1, 2, 3, 4].map((i) => `item ${i}`))
    }))

  test('writers at once give each turn one number, and each key one live item', () =>
    using(fresh(), async (memory) => {
      const name = 'at once'
      await Promise.all(
        Array.from({ length: 12 }, (_, i) =>
          memory.remember(`turn ${i}`, { source: 's', kind: 'episode', sessionId: name, scope: { kind: 'shared' } }),
        ),
      )
      await Promise.all(Array.from({ length: 6 }, (_, i) => memory.remember(`fact ${i}`, { source: 's', key: 'k' })))
      const turns = (await memory.list({ kinds: ['episode'] })).map(({ turn }) => turn)
      expect(new Set(turns).size).toBe(12)
      expect(await memory.list({ kinds: ['fact'] })).toHaveLength(1)
    }))

  test('a closed one says so', async () => {
    const memory = fresh()
    await memory.close()
    await memory.close()
    await expect(memory.recall('x')).rejects.toMatchObject({ code: 'store-closed' })
  })
}
