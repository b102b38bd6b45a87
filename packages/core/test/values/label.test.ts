import { fillLabel, joinLabels, maxSources, trustedLabel, untrustedLabel } from '@provost/core'
import type { Label } from '@provost/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { label } from '../arbitrary.ts'

const ranks = ['public', 'internal', 'secret'] as const

describe('the join of labels is a semilattice', () => {
  test('it does not matter in which order labels are joined', () => {
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

  test('nor how they are grouped', () => {
    fc.assert(
      fc.property(label, label, label, (a, b, c) => {
        const all = joinLabels(a, b, c)
        expect(joinLabels(joinLabels(a, b), c)).toStrictEqual(all)
        expect(joinLabels(a, joinLabels(b, c))).toStrictEqual(all)
      }),
    )
  })

  test('nor how often', () => {
    fc.assert(
      fc.property(label, label, (a, b) => {
        const once = joinLabels(a, b)
        expect(joinLabels(a, a)).toStrictEqual(joinLabels(a))
        expect(joinLabels(once, a)).toStrictEqual(once)
        expect(joinLabels(b, once, once, a)).toStrictEqual(once)
      }),
    )
  })

  test('no labels are the least one: trusted, public, from nowhere', () => {
    expect(joinLabels()).toEqual({ integrity: 'trusted', confidentiality: 'public', sources: [] })
    fc.assert(
      fc.property(label, (a) => {
        expect(joinLabels(a, joinLabels())).toStrictEqual(joinLabels(a))
      }),
    )
  })
})

describe('a join', () => {
  test('is untrusted if one is, and as confidential as the most confidential', () => {
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 5 }), (labels) => {
        const { integrity, confidentiality } = joinLabels(...labels)
        expect(integrity === 'untrusted').toBe(labels.some((one) => one.integrity === 'untrusted'))
        const rank = Math.max(...labels.map((one) => ranks.indexOf(one.confidentiality)))
        expect(confidentiality).toBe(ranks[rank])
      }),
    )
  })

  test('may be read by those only who may read all of it', () => {
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

  test('names all sources once and sorted, up to 32; with one more, or with a *, it says *', () => {
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

  test('leaves what it was given as it is', () => {
    fc.assert(
      fc.property(label, label, (a, b) => {
        const before = structuredClone([a, b])
        joinLabels(a, b)
        expect([a, b]).toEqual(before)
      }),
    )
  })

  test('that adds nothing is the same object: long histories share one label', () => {
    fc.assert(
      fc.property(label, label, (a, b) => {
        const joined = joinLabels(a, b)
        expect(joinLabels(joined, a)).toBe(joined)
      }),
    )
  })
})

describe('a label that is given in part', () => {
  test('is filled from the defaults of its place', () => {
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

  test('fails closed: what is no word of a label is taken for the strictest', () => {
    const odd: unknown = { integrity: 'sure', confidentiality: 'open', readers: 'all', sources: [1] }
    expect(fillLabel(odd as Label, trustedLabel)).toEqual({
      integrity: 'untrusted',
      confidentiality: 'secret',
      readers: [],
      sources: ['*'],
    })
  })

  test('that is whole stays the same object', () => {
    const whole = untrustedLabel('mail')
    expect(fillLabel(whole, trustedLabel)).toBe(whole)
  })

  test('of what is untrusted names where it is from', () => {
    expect(untrustedLabel('mail')).toEqual({ integrity: 'untrusted', confidentiality: 'internal', sources: ['mail'] })
  })
})
