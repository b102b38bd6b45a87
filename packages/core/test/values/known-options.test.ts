import {
  checkChoice,
  checkLabel,
  checkOptions,
  defineExtension,
  fillLabel,
  nearestName,
  oneOf,
  trustedLabel,
} from '@provost/core'
import type { CheckedKeys, KnownKeys, LabelInit, OptionCheck } from '@provost/core'
import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'

interface Limits {
  readonly tokens?: number
  readonly maxSteps?: number
}
const known = { tokens: true, maxSteps: true } satisfies KnownKeys<Limits>
const moved = { cost: 'Write budget({ cost }).', constructor: 'Write nothing.' }
const check = (options: unknown) => () => checkOptions(options, known, 'limit', moved)

describe('checkOptions', () => {
  test.each<[string, unknown]>([
    ['none', undefined],
    ['an empty object', {}],
    ['known options', { tokens: 1, maxSteps: 2 }],
    ['undefined values', { tokens: undefined, token: undefined }],
    ['inherited options', Object.create({ token: 1 })],
  ])('accepts %s', (_, options) => expect(check(options)).not.toThrow())

  test.each<[string, object, string]>([
    ['a missing letter', { token: 1 }, 'Unknown option "token" in limit. Did you mean "tokens"?'],
    ['swapped letters', { maxStpes: 1 }, 'Unknown option "maxStpes" in limit. Did you mean "maxSteps"?'],
    ['another spelling', { max_steps: 1 }, 'Unknown option "max_steps" in limit. Did you mean "maxSteps"?'],
    ['a name unlike any other', { retries: 1 }, 'Unknown option "retries" in limit.'],
    ['an option of another function', { cost: 1 }, 'Unknown option "cost" in limit. Write budget({ cost }).'],
    ['an inherited name', { toString: 1 }, 'Unknown option "toString" in limit.'],
    [
      'an inherited name that belongs to another function',
      { constructor: 1 },
      'Unknown option "constructor" in limit. Write nothing.',
    ],
    ['a name with a terminal escape', { '\u001b[2J': 1 }, 'Unknown option "\\u001b[2J" in limit.'],
    [
      'several',
      { token: 1, retries: 2 },
      'Unknown option "token" in limit. Did you mean "tokens"? Unknown option "retries" in limit.',
    ],
  ])('rejects an unknown option and states what to do: %s', (_, options, message) => {
    const error = expect.objectContaining({
      code: 'unknown-option',
      message,
      hint: 'The options are tokens, maxSteps.',
    })
    expect(check(options)).toThrow(error)
  })

  test.each<[string, unknown, string]>([
    ['null', null, 'limit takes its options as an object, not null.'],
    ['a number', 8080, 'limit takes its options as an object, not a number.'],
    ['a list', [1], 'limit takes its options as an object, not a list.'],
  ])('rejects a value that is not an object: %s', (_, options, message) => {
    expect(check(options)).toThrow(expect.objectContaining({ code: 'invalid-options', message }))
  })

  test('bounds the work for a long key', () => {
    const names = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`${at}${'x'.repeat(100_000)}`, 1]))
    expect(check(names)).toThrow(/^(Unknown option "\d+x{70,80}" in limit\. ?){5}$/)
  })

  test('suggests the name that is one typing error away, for any names', () => {
    const name = fc.stringMatching(/^[a-z]{5,12}$/)
    fc.assert(
      fc.property(name, fc.nat(11), fc.stringMatching(/^[a-z]$/), fc.nat(2), (word, at, letter, how) => {
        const place = at % word.length
        const put = how === 0 ? '' : how === 1 ? letter : `${letter}${word[place]}`
        const slip = `${word.slice(0, place)}${put}${word.slice(place + 1)}`
        expect(nearestName(slip, ['ABSOLUTELYANOTHERNAME', word])).toBe(word)
      }),
    )
  })
})

test('the compiler rejects an incomplete list of known names', () => {
  expectTypeOf<KnownKeys<Limits>>().toEqualTypeOf<Readonly<Record<'tokens' | 'maxSteps', true>>>()
  // @ts-expect-error -- maxSteps is missing
  expect({ tokens: true } satisfies KnownKeys<Limits>).toBeDefined()
  // @ts-expect-error -- steps is not an option
  expect({ tokens: true, maxSteps: true, steps: true } satisfies KnownKeys<Limits>).toBeDefined()
})

test('a table of options checks their values, also of those that are left out', () => {
  const table = { tokens: true, maxSteps: oneOf(1, 2) } satisfies CheckedKeys<Limits>
  expect(() => checkOptions({ tokens: -1, maxSteps: 2 }, table, 'limit')).not.toThrow()
  expect(() => checkOptions({}, table, 'limit')).not.toThrow()
  expect(() => checkOptions({ maxSteps: 3 }, table, 'limit')).toThrow(
    expect.objectContaining({ code: 'invalid-option', message: 'The option maxSteps of limit is 3.' }),
  )
  const needed: OptionCheck = (value, name, where) => checkChoice(value ?? null, [1], name, where)
  expect(() => checkOptions({}, { maxSteps: needed }, 'limit')).toThrow('The option maxSteps of limit is null.')
})

test('an unknown value of an option is rejected with the list of known values', () => {
  expect(() => checkChoice(undefined, ['a'], 'sync', 'here')).not.toThrow()
  expect(() => checkChoice('b', ['a', 'c'], 'sync', 'here')).toThrow(
    expect.objectContaining({
      code: 'invalid-option',
      message: "The option sync of here is 'b'.",
      hint: "Give 'a', 'c'.",
    }),
  )
})

describe('a label in a definition', () => {
  test.each<[string, object, string]>([
    ['a misspelled key', { confidentialty: 'secret' }, 'unknown-option'],
    ['an unknown integrity', { integrity: 'safe' }, 'invalid-label'],
    ['an unknown confidentiality', { confidentiality: 'private' }, 'invalid-label'],
    ['readers that are not a list', { readers: 'ann' }, 'invalid-label'],
    ['sources that are not strings', { sources: [1] }, 'invalid-label'],
  ])('is rejected: %s', (_, label, code) => {
    expect(() => checkLabel(label, 'here')).toThrow(expect.objectContaining({ code }))
  })

  test('with a misspelled key from untyped code counts as the strictest label', () => {
    const misspelt: object = { confidentialty: 'secret' }
    const label: LabelInit = misspelt
    expect(fillLabel(label, trustedLabel)).toEqual({
      integrity: 'untrusted',
      confidentiality: 'secret',
      readers: [],
      sources: ['*'],
    })
  })
})

describe('an extension', () => {
  test.each<[string, object, RegExp]>([
    [
      'a misspelled hook',
      { hooks: { 'tool.cal': () => {} } },
      /unknown hook "tool\.cal"\. Did you mean "tool\.call"\?/,
    ],
    ['a hook that is not a function', { hooks: { 'tool.call': true } }, /tool\.call of extension x is not a function/],
    ['a hook in the wrong place', { 'tool.call': () => {} }, /Put it into "hooks"\./],
    ['a misspelled option', { scop: 'tree' }, /Did you mean "scope"\?/],
    ['an unknown scope', { scope: 'trees' }, /has an unknown scope: "trees"/],
  ])('is rejected: %s', (_, more, message) => {
    expect(() => defineExtension({ name: 'x', ...more })).toThrow(message)
  })
})
