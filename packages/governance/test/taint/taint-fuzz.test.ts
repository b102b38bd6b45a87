import type { Label } from '@provost/core'
import { createTaintIndex } from '@provost/governance'
import fc from 'fast-check'
import { expect, test } from 'vitest'

import { full } from '../fixture/full.ts'
import { coveredLetters, letters } from './reference-index.ts'

const label: Label = { integrity: 'untrusted', confidentiality: 'internal', sources: ['mail'] }
const rot13 = (text: string) =>
  text.replaceAll(/[a-z]/gi, (char) => {
    const code = char.charCodeAt(0)
    return String.fromCharCode(((((code & 31) - 1 + 13) % 26) + 1) | (code & 96))
  })
const reverse = (text: string) => Array.from(text).toReversed().join('')
const bytes = (text: string, format: (byte: string) => string) =>
  Buffer.from(text).toString('hex').replaceAll(/../g, format)

/** Each encodes the same letters differently. */
const writings: Readonly<Record<string, (text: string) => string>> = {
  verbatim: (text) => text,
  upper: (text) => text.toUpperCase(),
  spaced: (text) => Array.from(text).join(' '),
  invisible: (text) => Array.from(text).join('\u200B\u2060'),
  fullwidth: (text) => text.replaceAll(/[!-~]/g, (char) => String.fromCodePoint(char.charCodeAt(0) + 0xfee0)),
  bold: (text) => text.replaceAll(/[a-z]/g, (char) => String.fromCodePoint(0x1d41a - 97 + char.charCodeAt(0))),
  cyrillic: (text) => text.replaceAll(/[aeopcx]/g, (char) => 'аеорсх'['aeopcx'.indexOf(char)] ?? char),
  accents: (text) => text.replaceAll(/[aeiou]/g, '$&\u0301'),
  noise: (text) => text.replaceAll(/\w{3}/g, '$&-_.'),
  json: (text) => JSON.stringify(text.replaceAll(' ', '\n')),
  jsonTwice: (text) => JSON.stringify(JSON.stringify(text.replaceAll(' ', '\n'))),
  unicodeEscapes: (text) => text.replaceAll(/./g, (char) => `\\u00${char.charCodeAt(0).toString(16).padStart(2, '0')}`),
  url: encodeURIComponent,
  urlWhole: (text) => bytes(text, (byte) => `%${byte}`),
  urlTwice: (text) => encodeURIComponent(bytes(text, (byte) => `%${byte}`)),
  quotedPrintable: (text) => bytes(text, (byte) => `=${byte.toUpperCase()}`),
  entities: (text) => text.replaceAll(/./g, (char) => `&#${char.charCodeAt(0)};`),
  hexEntities: (text) => text.replaceAll(/./g, (char) => `&#x${char.charCodeAt(0).toString(16)};`),
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  base64Shifted: (text) => `x=${'Q'.repeat(text.length % 4)}${Buffer.from(text).toString('base64')}`,
  base64Lines: (text) => Buffer.from(text.repeat(3)).toString('base64').replaceAll(/.{24}/g, '$&\r\n  '),
  base64Twice: (text) => Buffer.from(Buffer.from(text).toString('base64')).toString('base64'),
  utf16: (text) => Buffer.from(text, 'utf16le').toString('base64'),
  hex: (text) => Buffer.from(text).toString('hex'),
  hexSpaced: (text) => bytes(text, (byte) => `${byte} `),
  hexPrefixed: (text) => bytes(text, (byte) => `0x${byte}, `),
  reversed: reverse,
  rot13,
  reversedRot13: (text) => reverse(rot13(text)),
  tags: (text) => text.replaceAll(/[ -~]/g, (char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))),
}

const word = fc.string({
  unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789'.split('')),
  minLength: 1,
  maxLength: 9,
})
const prose = (least: number, most: number) =>
  fc.array(word, { minLength: least, maxLength: most }).map((words) => words.join(' '))

test.each(Object.keys(writings))('the taint index finds a span of 30 letters in any encoding: %s', (name) => {
  const write = writings[name] ?? String
  fc.assert(
    fc.property(prose(20, 60), prose(0, 20), fc.nat(), (text, other, start) => {
      fc.pre(letters(text).length > 40)
      let at = start % (text.length - 30)
      let [end, count] = [at, 0]
      for (; end < text.length && count < 30; end++) if (text[end] !== ' ') count++
      if (count < 30) for (; count < 30; at--) if (text[at - 1] !== ' ') count++
      const index = createTaintIndex()
      index.add(other, { source: 'other', label })
      index.add(text, { source: 'mail', label })
      const hits = index.check({ body: write(text.slice(at, end)) })
      expect(hits.map(({ source, path }) => `${source} ${path}`)).toContain('mail /body')
      expect(Math.max(...hits.map(({ length }) => length))).toBeGreaterThanOrEqual(28)
    }),
    { numRuns: full ? 100 : 4 },
  )
})

test('the taint index finds the same spans as a comparison of all positions, those of the least length included', () => {
  // Few letters, so that texts and arguments agree in many places and windows repeat.
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'n'), minLength: 0, maxLength: 120 })
  const piece = fc.tuple(fc.nat(7), fc.nat(), fc.integer({ min: 17, max: 26 }), text)
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), fc.array(piece, { maxLength: 4 }), (texts, pieces) => {
      const index = createTaintIndex()
      for (const [n, one] of texts.entries()) index.add(one, { source: `text ${n}`, label })
      const argument = pieces
        .map(([n, start, length, filler]) => {
          const from = texts[n % texts.length] ?? ''
          const at = from.length > 0 ? start % from.length : 0
          return `${filler.slice(0, 9)}z${from.slice(at, at + length)}`
        })
        .join('')
      // The index reads forwards and backwards and through rot13, in which a is n.
      const variants = texts.flatMap((one) => [one, reverse(one), rot13(one), reverse(rot13(one))])
      const expected = coveredLetters(argument, variants, 20)
      const actual = Array.from({ length: argument.length }, () => false)
      for (const { span } of index.check(argument)) actual.fill(true, ...span)
      expect(actual).toEqual(expected)
    }),
    { numRuns: full ? 800 : 100 },
  )
})

test('the taint index finds each of many texts that share windows', () => {
  const index = createTaintIndex()
  // 3,000 texts with one window in common, and each with an end of its own.
  const texts = Array.from({ length: 3_000 }, (_, n) => `thesharedwindow${n.toString().padStart(8, 'x')}end`)
  for (const text of texts) index.add(text, { source: text, label })
  for (const text of [texts[0], texts[1_500], texts[2_999]]) {
    const hits = index.check({ a: text })
    expect(hits.some(({ source, length }) => source === text && length >= 20)).toBe(true)
  }
})
