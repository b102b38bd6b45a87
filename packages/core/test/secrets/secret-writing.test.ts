import { createScrubber } from '@provost/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const secret = 'hunter2/+é"x&<'
const full = process.env['PROVOST_TEST_FULL'] === '1'
const shown = '⟦secret:KEY⟧'

function knowing(value = secret) {
  const one = createScrubber()
  one.add('KEY', value)
  return one
}

/** A text of any code units, mostly ASCII. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 127 }), fc.integer({ min: 0, max: 0xffff })), { maxLength: 20 })
  .map((units) => String.fromCharCode(...units))

const codes = (text: string) => Array.from(text, (char) => char.codePointAt(0) ?? 0)
const base64 = (text: string) => Buffer.from(text).toString('base64')
const pairs = (text: string) => Array.from(Buffer.from(text), (byte) => byte.toString(16).padStart(2, '0'))
const named: Readonly<Record<string, string>> = {
  '/': '&sol;',
  '+': '&plus;',
  é: '&eacute;',
  '"': '&quot;',
  '&': '&amp;',
  '<': '&lt;',
}

/** Each encodes every character on its own, and so accepts any value. */
const writings: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'in other case': (text) => text.toUpperCase(),
  JSON: (text) => JSON.stringify(text).slice(1, -1),
  'JSON with escaped slashes': (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replaceAll('/', String.raw`\/`),
  'JSON in JSON': (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  'JSON three deep': (text) => JSON.stringify(JSON.stringify(JSON.stringify(text))),
  '\\u of every character': (text) =>
    text.replaceAll(/[^]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
  '\\u in capitals': (text) =>
    text.replaceAll(/[^]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`),
  '\\u{} of every character': (text) =>
    codes(text)
      .map((code) => `\\u{${code.toString(16)}}`)
      .join(''),
  '\\x of every byte': (text) =>
    pairs(text)
      .map((pair) => `\\x${pair}`)
      .join(''),
  '\\x of characters': (text) =>
    codes(text)
      .map((code) => `\\x${code.toString(16).padStart(2, '0')}`)
      .join(''),
  '\\x of some': (text) => text.replaceAll(/[aeu2/]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`),
  octal: (text) =>
    pairs(text)
      .map((pair) => `\\${Number.parseInt(pair, 16).toString(8).padStart(3, '0')}`)
      .join(''),
  'percent where needed': encodeURIComponent,
  'percent of every byte': (text) =>
    pairs(text)
      .map((pair) => `%${pair}`)
      .join(''),
  'percent in capitals': (text) =>
    pairs(text)
      .map((pair) => `%${pair.toUpperCase()}`)
      .join(''),
  'percent in mixed case': (text) =>
    pairs(text)
      .map((pair, n) => `%${n % 2 ? pair : pair.toUpperCase()}`)
      .join(''),
  'percent twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  'percent of all twice': (text) =>
    pairs(text)
      .map((pair) => `%25${pair}`)
      .join(''),
  'percent of Latin-1': (text) =>
    codes(text)
      .map((code) => `%${code.toString(16).padStart(2, '0')}`)
      .join(''),
  '%u': (text) =>
    codes(text)
      .map((code) => `%u${code.toString(16).padStart(4, '0')}`)
      .join(''),
  'a form': (text) => new URLSearchParams([['', text]]).toString().slice(1),
  HTML: (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
  'HTML with names': (text) => text.replaceAll(/[^\w]/g, (c) => named[c] ?? c),
  'HTML decimal': (text) =>
    codes(text)
      .map((code) => `&#${code};`)
      .join(''),
  'HTML decimal with zeros': (text) =>
    codes(text)
      .map((code) => `&#${String(code).padStart(7, '0')};`)
      .join(''),
  'HTML decimal without semicolons': (text) =>
    codes(text)
      .map((code) => `&#${code}`)
      .join(''),
  'HTML hexadecimal': (text) =>
    codes(text)
      .map((code) => `&#x${code.toString(16)};`)
      .join(''),
  'HTML hexadecimal in capitals': (text) =>
    codes(text)
      .map((code) => `&#X${code.toString(16).toUpperCase()};`)
      .join(''),
  'HTML hexadecimal without semicolons': (text) =>
    codes(text)
      .map((code) => `&#x${code.toString(16)}`)
      .join(''),
  'HTML twice': (text) =>
    codes(text)
      .map((code) => `&amp;#${code};`)
      .join(''),
  'HTML in JSON': (text) =>
    JSON.stringify(
      codes(text)
        .map((code) => `&#${code};`)
        .join(''),
    ),
  hexadecimal: (text) => pairs(text).join(''),
  'hexadecimal in capitals': (text) => pairs(text).join('').toUpperCase(),
  'hexadecimal with colons': (text) => pairs(text).join(':'),
  'hexadecimal with colons in capitals': (text) => pairs(text).join(':').toUpperCase(),
  'base64 on lines of 8 characters': (text) => base64(`${text}???`).replaceAll(/.{8}/g, '$&\n'),
  'base64 on lines with indentation': (text) => base64(`${text}???`).replaceAll(/.{8}/g, '$&\r\n\t  '),
  'base64 on lines in JSON': (text) => JSON.stringify(base64(`${text}???`).replaceAll(/.{8}/g, '$&\n')),
  'hexadecimal on lines': (text) => pairs(text).join('').replaceAll(/.{10}/g, '$&\n'),
  'on lines': (text) => text.replaceAll(/.{4}/gs, '$&\n'),
  'base64 in JSON': (text) => base64(`${text}???`).replaceAll('/', String.raw`\/`),
  'base64 of JSON': (text) => base64(JSON.stringify({ password: text })),
  'base64 with a percent for its end': (text) => encodeURIComponent(base64(text)),
  'composed otherwise': (text) => text.normalize('NFD'),
  'read as Latin-1': (text) => Buffer.from(text).toString('latin1'),
}

describe('the scrubber finds a secret in common encodings', () => {
  test.each(Object.entries(writings))('%s', (_, write) => {
    const text = knowing().scrub(`before ${write(secret)} after`)
    expect(text).toContain(shown)
    expect(text).toMatch(/^before .* after$/s)
    expect(text).not.toContain('unter')
  })

  test('base64 of base64 and its base64url, at any offset', () => {
    const formats = fc.constantFrom('base64' as const, 'base64url' as const)
    fc.assert(
      fc.property(fc.string(), fc.string(), formats, formats, (before, after, inner, outer) => {
        const once = Buffer.from(before + secret + after).toString(inner)
        expect(knowing().scrub(Buffer.from(after + once + before).toString(outer))).toContain(shown)
      }),
      { numRuns: 50 },
    )
  })

  test('any value, in any escaping, with any characters left plain', () => {
    const value = anyText.filter((text) => text.trim().length >= 4)
    const escapes = ['\\u of every character', 'percent of every byte', 'HTML decimal', 'JSON', 'HTML'] as const
    const plain = (char: string) => /^[a-z0-9 ]$/i.test(char)
    fc.assert(
      fc.property(value, fc.constantFrom(...escapes), fc.infiniteStream(fc.boolean()), (any, name, left) => {
        const write = writings[name] ?? String
        const written = Array.from(any, (char) => (plain(char) && left.next().value ? char : write(char))).join('')
        // Half of a pair of surrogates cannot be written in UTF-8.
        fc.pre(any.isWellFormed() && !/[\0\x80-\x9f]/.test(any))
        expect(knowing(any).scrub(`\n${written}\n`)).toContain('⟦secret:KEY⟧')
      }),
      { numRuns: full ? 2_000 : 60 },
    )
  })
})

test('a secret of several lines is found with any indentation', () => {
  const key = '-----BEGIN KEY-----\nabcdefgh\nijklmnop\n-----END KEY-----\n'
  const one = knowing(key)
  expect(one.scrub(`key: |\n    ${key.replaceAll('\n', '\n    ')}next: 1`)).toBe(`key: |\n    ${shown}\n    next: 1`)
  expect(one.scrub(`a\n${key}b`)).toBe(`a\n${shown}b`)
})

test('a line end beside a secret stays', () => {
  expect(knowing().scrub(`a\n${secret}\n  b`)).toBe(`a\n${shown}\n  b`)
  expect(knowing().scrub(`a\nhun\nter2/+é"x&<\n  b`)).toBe(`a\n${shown}\n  b`)
})

test('text without a secret stays unchanged, whatever escapes it has', () => {
  const text = String.raw`C:\new\x41 100% &amp; &#104; &ampere %zz \u00e9 %E0%A4%A &#x110000; AT&T "a\"b" \u{0} ` + '\\'
  expect(knowing().scrub(text)).toBe(text)
  const one = knowing()
  fc.assert(
    fc.property(anyText, (any) => {
      expect(one.scrub(any)).toBe(any)
    }),
  )
})

test('the token of a secret stays unchanged and hides nothing beside it', () => {
  const one = knowing('KEY⟧')
  expect(one.scrub('⟦secret:KEY⟧')).toBe('⟦secret:KEY⟧')
  expect(one.scrub(String.raw`⟦secret:KEY⟧ K\u0045Y⟧`)).toBe('⟦secret:KEY⟧ ⟦secret:KEY⟧')
})

test('secrets that share characters are removed entirely', () => {
  const one = createScrubber()
  one.add('A', 'abab-cd')
  one.add('B', 'ab-cdef')
  expect(one.scrub('x abab-cdef y')).toMatch(/^x ⟦secret:[AB]⟧ y$/)
})

test('an encoded text in pieces is scrubbed like the whole text, wherever it is cut', () => {
  const one = knowing()
  const written = fc.constantFrom(...Object.values(writings)).map((write) => write(secret))
  const bits = fc.oneof(
    written,
    fc.constantFrom('hunter', String.raw`\u0068`, '&', '%', '\\', ' ', 'x', '&#x6', secret),
  )
  fc.assert(
    fc.property(fc.array(bits, { maxLength: 6 }), fc.infiniteStream(fc.nat(7)), (words, sizes) => {
      const text = words.join(' ')
      const stream = one.stream()
      let out = ''
      for (let at = 0; at < text.length;) {
        const size = 1 + (sizes.next().value ?? 0)
        out += stream.push(text.slice(at, at + size))
        at += size
      }
      out += stream.end()
      expect(out).toBe(one.scrub(text))
    }),
    { numRuns: full ? 5_000 : 200 },
  )
})

describe('bytes with text in them', () => {
  const encoded = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
  const wide = (text: string) => Buffer.from(text, 'utf16le')
  test.each<[string, Uint8Array]>([
    ['UTF-8', Buffer.from(`{"password":"${secret}"}`)],
    ['UTF-8 with escapes', Buffer.from(JSON.stringify(writings['HTML decimal']?.(secret)))],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${secret}`)],
    ['UTF-16', wide(`a line, then ${secret}`)],
    ['UTF-16 with a byte order mark', wide(`\ufeff${secret}`)],
    ['UTF-16 with escapes', wide(String.raw`p = "\u0068${secret.slice(1)}"`)],
    ['UTF-16 in big-endian order', Buffer.from(wide(`text ${secret}`)).swap16()],
    ['Latin-1', Buffer.from(`Größe ${secret}`, 'latin1')],
    ['truncated UTF-8', Buffer.from(`${secret} é`).subarray(0, -1)],
    ['a picture with a comment', Buffer.concat([Buffer.from([0xff, 0xd8, 0, 0xc3]), Buffer.from(secret)])],
    ['base64 in a file', Buffer.from(base64(secret))],
  ])('%s', (_, bytes) => {
    const one = knowing()
    const scrubbed = one.scrubBytes(bytes)
    expect(Buffer.from(scrubbed).toString('latin1')).not.toMatch(/h\0?u\0?n\0?t|aHVudGVy/)
    expect(one.scrubBase64(encoded(bytes))).toBe(encoded(scrubbed))
    expect(Buffer.from(one.scrubBase64(encoded(bytes)), 'base64')).toEqual(Buffer.from(scrubbed))
  })

  test('bytes without a secret stay the same object, and invalid base64 is scrubbed as text', () => {
    const one = knowing()
    const bytes = Uint8Array.from({ length: 5_000 }, (_, n) => (n * 7_919) & 255)
    expect(one.scrubBytes(bytes)).toBe(bytes)
    expect(one.scrubBase64(encoded(bytes))).toBe(encoded(bytes))
    expect(one.scrubBase64(`!${secret}`)).toBe(`!${shown}`)
    expect(knowing('hunter22').scrubBase64('hunter22')).toBe(shown)
  })
})

test('a hostile text of one megabyte costs one scan', () => {
  const one = knowing()
  for (const part of ['\\', '%', '&', '\\u{', '&#', '&a', '%25', '\\\\u005c', 'hunter2', '⟦', '&amp;', '\n', 'hun\n']) {
    const text = part.repeat(1_000_000 / part.length)
    expect(one.scrub(text)).toBe(text)
  }
})
