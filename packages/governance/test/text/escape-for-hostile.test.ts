import { escapeFor, isSafeFor } from '@provost/governance'
import type { Boundary } from '@provost/governance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { full } from '../fixture/full.ts'

const boundaries: readonly Boundary[] = [
  'http-header',
  'sse',
  'shell',
  'sql-like',
  'html',
  'markdown-image',
  'terminal',
  'json',
  'log-line',
]

const hostile = fc
  .array(
    fc.constantFrom(
      '\n',
      '\r',
      '\r\n',
      '\u0085',
      '\u2028',
      '\u2029',
      '\u001B[2J',
      '\u001B]0;x\u0007',
      '\u009B',
      '\0',
      '\u202E',
      '\u2066',
      '\u200B',
      "'",
      '"',
      '<',
      '>',
      '&',
      '\\',
      '%',
      '_',
      '![',
      '](',
      '//',
      'data: ',
      'event: x',
      ': ',
      'é',
      '\u{1F600}',
      '\uD800',
      'a',
      ' ',
      '`',
      '$(x)',
      ';',
    ),
  )
  .map((parts) => parts.join(''))

describe('an escaped value stays in its place:', () => {
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  const control = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/
  const deceptive = /[\u200B-\u200F\u2028-\u202E\u2066-\u2069]/
  const check = (boundary: Boundary, holds: (escaped: string, text: string) => void) =>
    fc.assert(
      fc.property(hostile, (text) => holds(escapeFor(boundary, text), text)),
      { numRuns: full ? 1_000 : 60 },
    )

  test('a header stays one line of printable ASCII', () => {
    check('http-header', (value) => {
      expect(value).toMatch(/^[ -~]*$/)
      expect(() => new Headers([['x', value]])).not.toThrow()
    })
    expect(escapeFor('http-header', 'ok\nset-cookie: a=b')).toBe('ok set-cookie: a=b')
  })

  test('an event keeps its one field', () => {
    check('sse', (value) => {
      for (const line of `data: ${value}`.split(/\r\n|\r|\n/)) expect(line).toMatch(/^data: /)
      expect(value).not.toMatch(deceptive)
    })
  })

  test('a shell word stays one word', () => {
    check('shell', (value) => {
      expect(value).not.toMatch(control)
      expect(value.replaceAll(String.raw`'\''`, '')).toMatch(/^'[^']*'$/)
    })
  })

  test('a LIKE pattern matches only itself', () => {
    check('sql-like', (value) => {
      expect(value.replaceAll(/\\[\\%_]/g, '')).not.toMatch(/[%_\\]/)
      expect(value.replaceAll("''", '')).not.toContain("'")
    })
  })

  test('HTML has no element, and Markdown no image or link', () => {
    check('html', (value) => {
      expect(value).not.toMatch(/[<>"'`]/)
    })
    check('markdown-image', (value) => {
      expect(value).not.toMatch(/<|:\/\//)
      expect(value.replaceAll(/\\./g, '')).not.toMatch(/[![\]()]/)
    })
  })

  test('a terminal and a log get plain text, a log one line', () => {
    check('terminal', (value) => {
      expect(value).not.toMatch(control)
      expect(value).not.toMatch(deceptive)
    })
    check('log-line', (value) => {
      expect(value).not.toMatch(control)
      expect(value).not.toMatch(/[\n\u2028\u2029\u202E]/)
    })
    expect(escapeFor('log-line', String.raw`a\n`)).not.toBe(escapeFor('log-line', 'a\n'))
  })

  test('JSON has the same value and nothing more', () => {
    check('json', (value, text) => {
      expect(JSON.parse(`"${value}"`)).toBe(text)
      expect(value).not.toMatch(/[<\u2028\u2029\u202E]/)
    })
  })

  test('an escaped value is safe and is not escaped again', () => {
    for (const boundary of boundaries)
      check(boundary, (value) => {
        expect({ boundary, value, safe: isSafeFor(boundary, value) }).toEqual({ boundary, value, safe: true })
      })
  })

  test('an unsafe value is reported', () => {
    expect(isSafeFor('http-header', 'text/html; q=0.9')).toBe(true)
    for (const text of ['a\nb', 'a\u2028b', 'a\u0085b', 'é']) expect(isSafeFor('http-header', text)).toBe(false)
    expect(isSafeFor('terminal', 'two\nlines')).toBe(true)
    expect(isSafeFor('shell', 'a; rm b')).toBe(false)
    expect(isSafeFor('sse', 'a\nevent: x')).toBe(false)
    expect(isSafeFor('html', '<img>')).toBe(false)
    expect(isSafeFor('markdown-image', '![x](https://evil.example)')).toBe(false)
    expect(isSafeFor('sql-like', "50%' or 1")).toBe(false)
    expect(isSafeFor('json', '", "admin": "yes')).toBe(false)
    expect(isSafeFor('log-line', 'a\nINFO b')).toBe(false)
  })
})
