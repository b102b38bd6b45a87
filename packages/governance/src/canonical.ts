import { lookalikes } from './lookalike.ts'

/**
 * Canonical text is one byte a character: letters and digits only, no accents, lookalikes as the Latin letter they
 * pass for, width and style variants (NFKC) as what they stand for. White space, punctuation, symbols, control
 * characters and invisible ones are dropped.
 *
 * 1–26 are a–z, 27–36 are 0–9, 37–62 are A–Z; letters of other scripts share 63–255. 0 is never in it.
 */
const firstDigit = 27
const firstUpper = 37
const firstOther = 63
const otherCodes = 193

/** In the table: not looked at yet. */
const unknown = 255 << 8
/** In the table: stands for several characters, in {@link expansions}. */
const several = 254 << 8

/** What is in a canonical text, in the letter case that compares: upper case folded to lower. */
export const folded: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= firstUpper && code < firstOther ? code - firstUpper + 1 : code,
)
/** A letter and the one thirteen further are one. */
export const foldedTwice: Uint8Array = folded.map((code) => (code >= 1 && code <= 26 ? ((code - 1) % 13) + 1 : code))
/** Rot13 of the folded code. */
export const rotated: Uint8Array = folded.map((code) => (code >= 1 && code <= 26 ? ((code + 12) % 26) + 1 : code))

/** Whether a code is a digit. */
export function isDigitCode(code: number): boolean {
  return code >= firstDigit && code < firstUpper
}

/** Codes of the first two planes, found when first met. */
const codes = new Uint16Array(0x20000).fill(unknown)
const expansions = new Map<number, Uint8Array>()
for (let char = 0; char < 128; char++) codes[char] = asciiCode(char)

function asciiCode(char: number): number {
  if (char >= 97 && char <= 122) return char - 96
  if (char >= 48 && char <= 57) return char - 48 + firstDigit
  if (char >= 65 && char <= 90) return char - 65 + firstUpper
  return 0
}

/** Canonical text with where each character stood. The arrays may be longer than `length`. */
export interface Canonical {
  bytes: Uint8Array
  /** Offset in the original of the character each byte came from, in UTF-16 code units. */
  from: Int32Array
  length: number
}

/** An empty canonical text to write to. */
export function emptyCanonical(): Canonical {
  return { bytes: new Uint8Array(256), from: new Int32Array(256), length: 0 }
}

/** Beside the code of an ASCII character: it may begin something encoded (percent, backslash, ampersand, equals sign). */
const escape = 1 << 8
/** It is of no alphabet of base64 or base64url. */
const breaks = 1 << 9
const ascii = Uint16Array.from({ length: 128 }, (_, char) => {
  const text = String.fromCharCode(char)
  return asciiCode(char) | (/[%\\&=]/.test(text) ? escape : 0) | (/[\w+/-]/.test(text) ? 0 : breaks)
})

/** What a text may hold besides its plain characters. */
export interface Suspicions {
  /** Where an escape may begin. */
  readonly escapes: number[]
  /** Start and end of tokens long enough to be base64 or hexadecimal, one pair after the other. */
  readonly tokens: number[]
  /** There are many tokens of two characters in a row: bytes in hexadecimal, maybe. */
  pairs: boolean
}

/** Tokens shorter than this are words. */
const shortestToken = 16
const manyPairs = 11

/** Appends a break: nothing that matches crosses it. */
export function appendBreak(into: Canonical): void {
  grow(into, into.length + 1)
  into.bytes[into.length] = 0
  into.from[into.length++] = 0
}

/** Appends the canonical form of a stretch of a text, and notes what it may hold besides. */
export function appendCanonical(
  into: Canonical,
  text: string,
  found?: Suspicions,
  start: number = 0,
  end: number = text.length,
): void {
  grow(into, into.length + end - start)
  const units = asciiIn(text, start, end)
  if (units) return appendAscii(into, units, start, found)
  let { bytes, from, length } = into
  let tokenStart = start
  let pairs = 0
  const endToken = (i: number): void => {
    const token = i - tokenStart
    if (token >= shortestToken) found?.tokens.push(tokenStart, i)
    if ((token === 2 || token === 4) && mayBeHex(text.charCodeAt(i - 1))) {
      if (++pairs === manyPairs && found) found.pairs = true
    } else if (token > 0) pairs = 0
    tokenStart = i + 1
  }
  for (let i = start; i < end; i++) {
    const char = text.charCodeAt(i)
    if (char < 128) {
      const entry = ascii[char] ?? 0
      const code = entry & 255
      if (code !== 0) {
        bytes[length] = code
        from[length++] = i
      } else if (entry >= breaks) {
        endToken(i)
        if ((entry & escape) !== 0) found?.escapes.push(i)
      }
      continue
    }
    endToken(i)
    const point = text.codePointAt(i) ?? char
    const code = codeOf(point)
    if (code === several) {
      const expansion = expansions.get(point) ?? none
      into.length = length
      // Room for the expansion and for all that is still to come.
      grow(into, length + expansion.length + end - i)
      ;({ bytes, from } = into)
      for (const one of expansion) {
        bytes[length] = one
        from[length++] = i
      }
    } else if (code !== 0) {
      bytes[length] = code
      from[length++] = i
    }
    if (point > 0xffff) tokenStart = ++i + 1
  }
  endToken(end)
  into.length = length
}

/** The same for plain ASCII, as most arguments are. */
function appendAscii(into: Canonical, units: Uint8Array, start: number, found?: Suspicions): void {
  const { bytes, from } = into
  let { length } = into
  let tokenStart = 0
  let pairs = 0
  const count = units.length
  for (let i = 0; i <= count; i++) {
    const entry = i < count ? (ascii[units[i] ?? 0] ?? 0) : breaks
    const code = entry & 255
    if (code !== 0) {
      bytes[length] = code
      from[length++] = start + i
    } else if (entry >= breaks) {
      const token = i - tokenStart
      if (found) {
        if (token >= shortestToken) found.tokens.push(start + tokenStart, start + i)
        if ((token === 2 || token === 4) && mayBeHex(units[i - 1] ?? 0)) {
          if (++pairs === manyPairs) found.pairs = true
        } else if (token > 0) pairs = 0
        if ((entry & escape) !== 0) found.escapes.push(start + i)
      }
      tokenStart = i + 1
    }
  }
  into.length = length
}

/**
 * Writes the canonical form of plain ASCII to `into` from `at` on, which has room for it.
 *
 * @returns how many bytes there are; undefined for a text that is not plain, of which nothing is written.
 */
export function writeAscii(into: Uint8Array, at: number, text: string, start: number, end: number): number | undefined {
  const units = asciiIn(text, start, end)
  if (!units) return undefined
  let length = at
  for (let i = 0; i < units.length; i++) {
    const code = (ascii[units[i] ?? 0] ?? 0) & 255
    into[length] = code
    // What is dropped is written over by what follows.
    length += code === 0 ? 0 : 1
  }
  return length - at
}

const none = new Uint8Array()
const encoder = new TextEncoder()
let encoded = new Uint8Array(1024)
/** Of longer texts it is only looked at so much at a time. */
const mostEncoded = 1 << 20

/** A text of plain ASCII as bytes, which are read many times as fast. They are gone with the next call. */
function asciiIn(text: string, start: number, end: number): Uint8Array | undefined {
  const length = end - start
  if (length < 32 || length > mostEncoded) return undefined
  if (encoded.length < length) encoded = new Uint8Array(length * 2)
  const { read, written } = encoder.encodeInto(
    start === 0 && end === text.length ? text : text.slice(start, end),
    encoded,
  )
  return read === length && written === length ? encoded.subarray(0, length) : undefined
}

/** Letters of words mostly are none. */
function mayBeHex(unit: number): boolean {
  return unit < 58 || (unit | 32) < 103
}

function grow(into: Canonical, length: number): void {
  if (length <= into.bytes.length) return
  const size = Math.ceil(length * 1.25) + 64
  const bytes = new Uint8Array(size)
  const from = new Int32Array(size)
  bytes.set(into.bytes.subarray(0, into.length))
  from.set(into.from.subarray(0, into.length))
  into.bytes = bytes
  into.from = from
}

/** The canonical form of a short text, as bytes. */
export function canonicalBytes(text: string): Uint8Array {
  const into = emptyCanonical()
  appendCanonical(into, text)
  return into.bytes.slice(0, into.length)
}

function codeOf(point: number): number {
  // Tags write ASCII invisibly; variation selectors behind them write nothing.
  if (point >= 0xe0000) return point >= 0xe0020 && point < 0xe007f ? asciiCode(point - 0xe0000) : 0
  // Ideographs all the way: none has a shorter form worth a table.
  if (point >= 0x20000) return otherCode(point)
  const known = codes[point] ?? 0
  if (known !== unknown) return known
  const code = findCode(point)
  codes[point] = code
  return code
}

function findCode(point: number): number {
  const char = String.fromCodePoint(point)
  // Letters that show nothing, such as fillers, are no letters.
  if (/\p{Default_Ignorable_Code_Point}/u.test(char)) return 0
  const written = lookalikes.get(char) ?? char.normalize('NFKD')
  const found: number[] = []
  for (const one of written) {
    const code = simpleCode(one)
    if (code !== 0) found.push(code)
  }
  const [first = 0] = found
  if (found.length < 2) return first
  expansions.set(point, Uint8Array.from(found))
  return several
}

/** The code of a character that has no decomposition. */
function simpleCode(char: string): number {
  const point = char.codePointAt(0) ?? 0
  if (point < 128) return asciiCode(point)
  if (!/[\p{L}\p{N}]/u.test(char)) return 0
  if (/\p{Nd}/u.test(char)) return firstDigit + digitValue(point)
  const latin = lookalikes.get(char) ?? lookalikes.get(char.toLowerCase()) ?? stroked.get(char.toLowerCase())
  if (latin !== undefined) return asciiCode(latin.charCodeAt(0))
  return otherCode(char.toLowerCase().codePointAt(0) ?? point)
}

/** Latin letters whose stroke or tail is no mark that could be taken off. */
const stroked: ReadonlyMap<string, string> = new Map(
  Object.entries({ ø: 'o', đ: 'd', ð: 'd', ł: 'l', ħ: 'h', ŧ: 't', ƀ: 'b', ɨ: 'i', ɍ: 'r', ß: 's', æ: 'a', œ: 'o' }),
)

/** Digits stand in blocks of ten that begin with zero. */
function digitValue(point: number): number {
  let before = 0
  while (before < 9 && /\p{Nd}/u.test(String.fromCodePoint(point - before - 1))) before++
  return before
}

function otherCode(point: number): number {
  return firstOther + ((Math.imul(point, 0x9e3779b1) >>> 8) % otherCodes)
}
