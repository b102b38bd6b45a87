import {
  checkChoice,
  checkLabel,
  checkOptions,
  defineExtension,
  fillLabel,
  nearestName,
  trustedLabel,
} from '@provost/core'
import type { KnownKeys, LabelInit } from '@provost/core'
import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'

interface Limits {
  readonly tokens?: number
  readonly maxSteps?: number
}
const known = { tokens: true, maxSteps: true } satisfies KnownKeys<Limits>
const moved = { cost: 'Write budget({ cost }).', constructor: 'Write nothing.' }
const check = (options: unknown) => () => checkOptions(options, known, 'limit', moved)

describe('unknown options', () => {
  test.each<[string, unknown]>([
    ['none', undefined],
    ['an empty object', {}],
    ['known ones', { tokens: 1, maxSteps: 2 }],
    ['undefined values, which say nothing', { tokens: undefined, token: undefined }],
    ['inherited ones', Object.create({ token: 1 })],
  ])('are not: %s', (_, options) => expect(check(options)).not.toThrow())

  test.each<[string, object, string]>([
    ['one letter off', { token: 1 }, 'Unknown option "token" in limit. Did you mean "tokens"?'],
    ['swapped letters', { maxStpes: 1 }, 'Unknown option "maxStpes" in limit. Did you mean "maxSteps"?'],
    ['another writing', { max_steps: 1 }, 'Unknown option "max_steps" in limit. Did you mean "maxSteps"?'],
    ['nothing near', { retries: 1 }, 'Unknown option "retries" in limit.'],
    ['one that is elsewhere', { cost: 1 }, 'Unknown option "cost" in limit. Write budget({ cost }).'],
    ['a name that every object has', { toString: 1 }, 'Unknown option "toString" in limit.'],
    ['one of those that is elsewhere', { constructor: 1 }, 'Unknown option "constructor" in limit. Write nothing.'],
    ['a name that draws on a terminal', { '\u001b[2J': 1 }, 'Unknown option "\\u001b[2J" in limit.'],
    [
      'several',
      { token: 1, retries: 2 },
      'Unknown option "token" in limit. Did you mean "tokens"? Unknown option "retries" in limit.',
    ],
  ])('are refused, with what to do: %s', (_, options, message) => {
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
  ])('what is no object is refused: %s', (_, options, message) => {
    expect(check(options)).toThrow(expect.objectContaining({ code: 'invalid-options', message }))
  })

  test('a key of any length costs no more than it shows', () => {
    const names = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`${at}${'x'.repeat(100_000)}`, 1]))
    expect(check(names)).toThrow(/^(Unknown option "\d+x{70,80}" in limit\. ?){5}$/)
  })

  test('one slip of the fingers is found, whatever the names', () => {
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

test('the list of known names is complete, or the compiler says so', () => {
  expectTypeOf<KnownKeys<Limits>>().toEqualTypeOf<Readonly<Record<'tokens' | 'maxSteps', true>>>()
  // @ts-expect-error -- maxSteps is missing
  expect({ tokens: true } satisfies KnownKeys<Limits>).toBeDefined()
  // @ts-expect-error -- there are no steps
  expect({ tokens: true, maxSteps: true, steps: true } satisfies KnownKeys<Limits>).toBeDefined()
})

test('a word that an option does not know is refused with those it knows', () => {
  expect(() => checkChoice(undefined, ['a'], 'sync', 'here')).not.toThrow()
  expect(() => checkChoice('b', ['a', 'c'], 'sync', 'here')).toThrow(
    expect.objectContaining({
      code: 'invalid-option',
      message: "The option sync of here is 'b'.",
      hint: "Give 'a', 'c'.",
    }),
  )
})

describe('a label that an author writes', () => {
  test.each<[string, object, string]>([
    ['a misspelt key', { confidentialty: 'secret' }, 'unknown-option'],
    ['a word of no integrity', { integrity: 'safe' }, 'invalid-label'],
    ['a word of no confidentiality', { confidentiality: 'private' }, 'invalid-label'],
    ['readers that are no list', { readers: 'ann' }, 'invalid-label'],
    ['sources that are no names', { sources: [1] }, 'invalid-label'],
  ])('is refused: %s', (_, label, code) => {
    expect(() => checkLabel(label, 'here')).toThrow(expect.objectContaining({ code }))
  })

  test('is the strictest where code makes it and misspells a key', () => {
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
    ['a misspelt hook', { hooks: { 'tool.cal': () => {} } }, /unknown hook "tool\.cal"\. Did you mean "tool\.call"\?/],
    ['a hook that is no function', { hooks: { 'tool.call': true } }, /tool\.call of extension x is not a function/],
    ['a hook in the wrong place', { 'tool.call': () => {} }, /Put it into "hooks"\./],
    ['a misspelt option', { scop: 'tree' }, /Did you mean "scope"\?/],
    ['another scope', { scope: 'trees' }, /has an unknown scope: "trees"/],
  ])('is refused: %s', (_, more, message) => {
    expect(() => defineExtension({ name: 'x', ...more })).toThrow(message)
  })
})
