import type { Steps } from '@provost/core'
import { finish } from '@provost/core'

import { longText } from './long-text.ts'
import { plainForm, withoutEscapes } from './plain-form.ts'
import { textIn } from './readable-bytes.ts'

/** A span of a text that decodes to another text. */
export interface EncodedText {
  readonly encoded: string
  readonly decoded: string
}

/** An encoding of text, and its decoder. */
type Writing = readonly [pattern: RegExp, read: (written: string) => string | undefined]

const writings: readonly Writing[] = [
  [/[A-Za-z\d+/_-]{12,}={0,2}/g, (written) => readable(Buffer.from(written, 'base64url'))],
  [/(?:[\da-f]{2}){8,}/gi, (written) => readable(Buffer.from(written, 'hex'))],
  // Bytes one by one, with something between them.
  [
    /(?:(?:0x)?[\da-f]{2}[\s:,;-]{1,2}){7,}(?:0x)?[\da-f]{2}/gi,
    (written) => worded(bytesIn(written, /[\da-f]{2}(?![\da-fx])/gi, 16)),
  ],
  [/(?:\d{2,3}[\s,;]{1,2}){11,}\d{2,3}/g, (written) => worded(bytesIn(written, /\d+/g, 10))],
  [/(?:[01]{8}[\s,;]{0,2}){8,}/g, (written) => worded(bytesIn(written, /[01]{8}/g, 2))],
  [/[A-Z2-7]{16,}={0,6}/g, (written) => worded(base32Bytes(written))],
  // Letters that need no escape, each with one.
  [/(?:[%=][\da-f]{2}){8,}|(?:\\u[\da-f]{4}|\\x[\da-f]{2}|\\[0-7]{3}){8,}|(?:&#x?[\da-f]{2,6};?){8,}/gi, unescaped],
  // Pieces of one token. Words do not decode to readable text.
  [/(?:[A-Za-z\d+/_-]{1,15}\s{1,4}){3,}[A-Za-z\d+/_-]{1,15}={0,2}/g, piecedTogether],
]
/** Matches runs of invisible characters that are too long for their usual purpose, such as flags or joined letters. */
const invisible = /(?:[\u{E0020}-\u{E007E}]|[\u{E0100}-\u{E01EF}]){8,}|[\u200B-\u200F\u2060-\u2064\uFEFF]{8,}/gu

/**
 * Returns the parts of a text that decode to another text: base64, base64url, base32 and hex, also in pieces; letters
 * as escapes or as numbers; invisible characters. Words and numbers are excluded, since they decode to unreadable text.
 */
export function encodedTextsIn(text: string): readonly EncodedText[] {
  return finish(encodedTextSteps(text))
}

/** {@link encodedTextsIn} in steps. */
export function* encodedTextSteps(text: string): Steps<readonly EncodedText[]> {
  const found: EncodedText[] = []
  const isLong = text.length > longText
  for (const [encoded] of text.matchAll(invisible)) found.push({ encoded, decoded: shown(encoded) })
  if (isLong) yield
  const plain = plainForm(text)
  for (const [pattern, read] of writings) {
    let looked = 0
    for (const [encoded] of plain.matchAll(pattern)) {
      const decoded = read(encoded)
      if (decoded !== undefined) found.push({ encoded, decoded })
      if ((looked += encoded.length) < longText) continue
      looked = 0
      yield
    }
    if (isLong) yield
  }
  return found
}

/** Returns bytes as a text if they are at least eight characters, all readable. */
function readable(bytes: Uint8Array): string | undefined {
  const text = Buffer.from(bytes).toString('utf8')
  if (text.length < 8 || text.includes('�')) return undefined
  let plain = 0
  for (const char of text) {
    if (/[\p{Cc}\p{Cn}\p{Co}]/u.test(char) && !/\s/u.test(char)) return undefined
    if (/[ -~]/.test(char)) plain++
  }
  return plain >= text.length * 0.9 ? text : undefined
}

/**
 * Like {@link readable}, for numbers of a table or names in capitals, which are often readable by chance: the result
 * must consist mostly of words.
 */
function worded(bytes: Uint8Array): string | undefined {
  const text = readable(bytes)
  return text !== undefined && isWorded(text) ? text : undefined
}

function isWorded(text: string): boolean {
  return /[a-z]{3}/i.test(text) && (text.match(/[A-Za-z \d@.,:/]/g) ?? []).length >= text.length * 0.85
}

/** Returns the bytes that numbers represent; none if one of them is not a byte. */
function bytesIn(written: string, number: RegExp, radix: number): Uint8Array {
  const values = Array.from(written.matchAll(number), ([digits]) => Number.parseInt(digits, radix))
  return values.every((value) => value < 256) ? Uint8Array.from(values) : new Uint8Array()
}

function base32Bytes(written: string): Uint8Array {
  const bytes: number[] = []
  let [bits, count] = [0, 0]
  for (const char of written.replaceAll('=', '')) {
    bits = ((bits << 5) | 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char)) & 0xfff
    count += 5
    if (count < 8) continue
    count -= 8
    bytes.push((bits >> count) & 0xff)
  }
  return Uint8Array.from(bytes)
}

function unescaped(written: string): string | undefined {
  const says = withoutEscapes(written)?.text ?? ''
  return isWorded(says) ? says : undefined
}

/** Tries all four alignments of joined pieces, since words may precede the encoded text. */
function piecedTogether(written: string): string | undefined {
  const token = written.replaceAll(/\s+/g, '')
  const found: string[] = []
  for (let shift = 0; shift < 4; shift++) {
    const bytes = Buffer.from(token.slice(shift), 'base64')
    textIn(bytes, shortestPieced, (from, to) => {
      const text = bytes.toString('utf8', from, to)
      if (isWorded(text)) found.push(text)
    })
  }
  return found[0]
}

/** Bytes: fewer are readable by chance. */
const shortestPieced = 16

/** Tags and selectors have the number of a byte or of a letter in them. */
function shown(written: string): string {
  return Array.from(written, (char) => {
    const point = char.codePointAt(0) ?? 0
    return point >= 0xe0100
      ? String.fromCharCode(point - 0xe0100)
      : point >= 0xe0020
        ? String.fromCharCode(point - 0xe0000)
        : ''
  }).join('')
}
