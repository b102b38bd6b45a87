import { fillLabel, joinLabels, maxSources, trustedLabel, untrustedLabel } from '@provost/core'
import type { Label } from '@provost/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { label } from '../arbitrary.ts'

const strictest: Label = { integrity: 'untrusted', confidentiality: 'secret', readers: [], sources: ['*'] }
const ranks = ['public', 'internal', 'secret'] as const

describe('the join of labels is a semilattice', () => {
  test('the join is commutative', () => {
    fc.assert(
      fc.property(label, label, (a, b) => {
        expect(joinLabels(a, b)).toStrictEqual(joinLabels(b, a))
      }),
    )
    const shuffled = fc
      .array(label, { maxLength: 6 })
      .chain((labels) => fc.tuple(fc.constant(labels), fc.shuffledSubarray(labels, { minLength: labels.length })))
    fc.assert(
      fc.property(shuffled, ([labels, others]) => {
        expect(joinLabels(...labels)).toStrictEqual(joinLabels(...others))
      }),
    )
  })

  test('the join is associative', () => {
    fc.assert(
      fc.property(label, label, label, (a, b, c) => {
        const all = joinLabels(a, b, c)
        expect(joinLabels(joinLabels(a, b), c)).toStrictEqual(all)
        expect(joinLabels(a, joinLabels(b, c))).toStrictEqual(all)
      }),
    )
  })

  test('the join is idempotent', () => {
    fc.assert(
      fc.property(label, label, (a, b) => {
        const once = joinLabels(a, b)
        expect(joinLabels(a, a)).toStrictEqual(joinLabels(a))
        expect(joinLabels(once, a)).toStrictEqual(once)
        expect(joinLabels(b, once, once, a)).toStrictEqual(once)
      }),
    )
  })

  test('the join of no labels is the least label: trusted, public, without sources', () => {
    expect(joinLabels()).toEqual({ integrity: 'trusted', confidentiality: 'public', sources: [] })
    fc.assert(
      fc.property(label, (a) => {
        expect(joinLabels(a, joinLabels())).toStrictEqual(joinLabels(a))
      }),
    )
  })
})

describe('a join', () => {
  test('is untrusted if one label is, and as confidential as the most confidential one', () => {
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 5 }), (labels) => {
        const { integrity, confidentiality } = joinLabels(...labels)
        expect(integrity === 'untrusted').toBe(labels.some((one) => one.integrity === 'untrusted'))
        const rank = Math.max(...labels.map((one) => ranks.indexOf(one.confidentiality)))
        expect(confidentiality).toBe(ranks[rank])
      }),
    )
  })

  test('has the readers that all labels have in common', () => {
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 5 }), (labels) => {
        const { readers } = joinLabels(...labels)
        const lists = labels.flatMap((one) => (one.readers ? [one.readers] : []))
        expect(readers === undefined).toBe(lists.length === 0)
        const known = ['ann', 'bob', 'cid', 'dan', 'eve']
        const allowed = known.filter((reader) => lists.every((list) => list.includes(reader)))
        expect(readers ?? known).toEqual(allowed)
      }),
    )
  })

  test('lists each source once and sorted, up to 32, and * for more or if one label has *', () => {
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 4 }), (labels) => {
        const { sources } = joinLabels(...labels)
        const all = new Set(labels.flatMap((one) => one.sources))
        expect(sources).toEqual(all.has('*') || all.size > maxSources ? ['*'] : [...all].toSorted())
      }),
    )
    const from = (count: number): Label[] => Array.from({ length: count }, (_, n) => untrustedLabel(`source-${n}`))
    expect(joinLabels(...from(32)).sources).toHaveLength(32)
    expect(joinLabels(...from(33)).sources).toEqual(['*'])
    expect(joinLabels(...from(33), untrustedLabel('one more')).sources).toEqual(['*'])
  })

  test('leaves its inputs unchanged', () => {
    fc.assert(
      fc.property(label, label, (a, b) => {
        const before = structuredClone([a, b])
        joinLabels(a, b)
        expect([a, b]).toEqual(before)
      }),
    )
  })

  test('that adds nothing returns the same object, so long histories share one label', () => {
    fc.assert(
      fc.property(label, label, (a, b) => {
        const joined = joinLabels(a, b)
        expect(joinLabels(joined, a)).toBe(joined)
      }),
    )
  })
})

test('labels with tens of thousands of readers are joined in a moment', () => {
  const readers = (end: string) => Array.from({ length: 30_000 }, (_, n) => `${n}${end}`).toSorted()
  const start = performance.now()
  const [ann, ben] = [readers('a'), readers('b')]
  expect(joinLabels({ ...trustedLabel, readers: ann }, { ...trustedLabel, readers: [...ann] }).readers).toEqual(ann)
  expect(joinLabels({ ...trustedLabel, readers: ann }, { ...trustedLabel, readers: ben }).readers).toEqual([])
  expect(performance.now() - start).toBeLessThan(3_000)
})

describe('a partial label', () => {
  test('takes missing fields from the defaults', () => {
    expect(fillLabel(undefined, trustedLabel)).toBe(trustedLabel)
    expect(fillLabel({}, trustedLabel)).toEqual(trustedLabel)
    expect(fillLabel({ confidentiality: 'secret' }, untrustedLabel('mail'))).toEqual({
      integrity: 'untrusted',
      confidentiality: 'secret',
      sources: ['mail'],
    })
    expect(fillLabel({ readers: ['ann'] }, trustedLabel)).toMatchObject({ readers: ['ann'] })
    expect(fillLabel(trustedLabel, { ...untrustedLabel('mail'), readers: ['ann'] })).toEqual({
      ...trustedLabel,
      readers: ['ann'],
    })
  })

  test('fails closed: an invalid value counts as the strictest', () => {
    const odd: unknown = { integrity: 'sure', confidentiality: 'open', readers: 'all', sources: [1] }
    expect(fillLabel(odd as Label, trustedLabel)).toEqual(strictest)
  })

  test('with a misspelt field is the strictest, also if it is complete', () => {
    const misspelt: unknown = { ...trustedLabel, reader: ['ann'] }
    expect(fillLabel(misspelt as Label, trustedLabel)).toEqual(strictest)
  })

  test.each<[string, unknown]>([
    ['a number', 5],
    ['a list', []],
    ['a text', 'secret'],
  ])('that is %s is the strictest', (_, odd) => {
    expect(fillLabel(odd as Label, trustedLabel)).toEqual(strictest)
  })

  test('takes null for an invalid value, not for a missing one', () => {
    const odd: unknown = { integrity: null, confidentiality: null, readers: null, sources: null }
    expect(fillLabel(odd as Label, trustedLabel)).toEqual(strictest)
  })

  test('stays the same object if it is complete', () => {
    const whole = untrustedLabel('mail')
    expect(fillLabel(whole, trustedLabel)).toBe(whole)
  })

  test('that is untrusted names its source', () => {
    expect(untrustedLabel('mail')).toEqual({ integrity: 'untrusted', confidentiality: 'internal', sources: ['mail'] })
  })
})
