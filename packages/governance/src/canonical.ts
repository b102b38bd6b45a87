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

/** Beside the code of a code unit. It is a letter or a digit: the code is not 0. */
const kept = 1 << 8
/** It is of an alphabet of base64 or base64url. */
const inToken = 1 << 9
/** It may be of bytes in hexadecimal, or stand between them. */
const inPairs = 1 << 10
/** It may begin something encoded: percent, backslash, ampersand, equals sign. */
const escape = 1 << 11
/** It was not looked at yet, is one half of a character, or stands for several. */
const special = 1 << 12

/** Code units by number, found when first met. */
const entries: Uint16Array = new Uint16Array(0x10000).fill(special)
/** Codes of the characters above, found when first met. */
const upper = new Uint8Array(0x10000)
const upperKnown = new Uint8Array(0x10000)
const expansions = new Map<number, Uint8Array>()
for (let char = 0; char < 128; char++) entries[char] = entryOf(asciiCode(char), String.fromCharCode(char))

// White space may stand between bytes in hexadecimal: it is known before it is met.
for (const space of '\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF') {
  entries[space.charCodeAt(0)] = entryOf(0, space)
}

function asciiCode(char: number): number {
  if (char >= 97 && char <= 122) return char - 96
  if (char >= 48 && char <= 57) return char - 48 + firstDigit
  if (char >= 65 && char <= 90) return char - 65 + firstUpper
  return 0
}

function entryOf(code: number, char: string): number {
  const flags =
    (/[A-Za-z\d_+/-]/.test(char) ? inToken : 0) |
    (/[\da-fx\s:,;]/i.test(char) ? inPairs : 0) |
    (/[%\\&=]/.test(char) ? escape : 0)
  return code | flags | (code === 0 ? 0 : kept)
}

/** Canonical text. The array may be longer than `length`. */
export interface Canonical {
  bytes: Uint8Array<ArrayBuffer>
  length: number
}

/** An empty canonical text to write to. */
export function emptyCanonical(): Canonical {
  return { bytes: new Uint8Array(512), length: 0 }
}

/** What a text may hold besides its plain characters. */
export interface Suspicions {
  /** Where an escape may begin. */
  readonly escapes: number[]
  /** Start and end of tokens long enough to be base64 or hexadecimal, one pair after the other. */
  readonly tokens: number[]
  /** Start and end of stretches long enough to be bytes in hexadecimal one by one. */
  readonly pairs: number[]
}

/** Tokens shorter than this are words. */
const shortestToken = 16
/** Twelve bytes with something between them. */
const shortestPairs = 35

/** Code units looked at in one go: what they need in between stays small. */
const slice = 32_768

/** Appends a break: nothing that matches crosses it. */
export function appendBreak(into: Canonical): void {
  makeRoom(into, 1)
  into.bytes[into.length++] = 0
}

/** Appends the canonical form of a stretch of a text, and notes what it may hold besides. */
export function appendCanonical(
  into: Canonical,
  text: string,
  found?: Suspicions,
  start: number = 0,
  end: number = text.length,
): void {
  let [token, pairs] = [0, 0]
  for (let first = start, last = start; first < end; first = last) {
    last = sliceEnd(text, first, end)
    const units = codeUnits(text, first, last)
    const count = units.length
    makeRoom(into, count)
    let { bytes, length } = into
    // Nothing in here is guessed by the processor for each letter: what is dropped is written over by what follows, and
    // what is rare shows in one test.
    for (let i = 0; i < count; i++) {
      const entry = entries[units[i] ?? 0] ?? 0
      bytes[length] = entry
      length += (entry >>> 8) & 1
      token = (token + 1) & (0 - ((entry >>> 9) & 1))
      pairs = (pairs + 1) & (0 - ((entry >>> 10) & 1))
      if (entry >= escape) {
        if (entry < special) {
          found?.escapes.push(first + i)
          continue
        }
        const point = pointAt(units, i)
        const code = codeOf(point)
        if (code >= 0) {
          bytes[length] = code
          length += code === 0 ? 0 : 1
        } else {
          const expansion = expansions.get(point) ?? none
          into.length = length
          // Room for the expansion and for all that is still to come.
          makeRoom(into, expansion.length + count - i)
          bytes = into.bytes
          for (const one of expansion) bytes[length++] = one
        }
        if (point > 0xffff) i++
      } else if (token === shortestToken) {
        found?.tokens.push(first + i + 1 - token, runEnd(text, first + i, end, inToken))
      }
      if (pairs === shortestPairs) found?.pairs.push(first + i + 1 - pairs, runEnd(text, first + i, end, inPairs))
    }
    into.length = length
  }
}

/** Where the characters of a canonical text stood: the place of each byte in the text, in UTF-16 code units. */
export function placesIn(text: string, stretches: readonly number[], length: number): Int32Array {
  // What is dropped at the end is written and does not count.
  const places = new Int32Array(length + 1)
  let count = 0
  for (let n = 0; n < stretches.length; n += 2) {
    if (n > 0) places[count++] = 0
    const [start, end] = [stretches[n] ?? 0, stretches[n + 1] ?? 0]
    for (let first = start, last = start; first < end; first = last) {
      last = sliceEnd(text, first, end)
      const units = codeUnits(text, first, last)
      for (let i = 0; i < units.length; i++) {
        const entry = entries[units[i] ?? 0] ?? 0
        places[count] = first + i
        count += (entry >>> 8) & 1
        if (entry < special) continue
        const point = pointAt(units, i)
        const code = codeOf(point)
        const more = code < 0 ? (expansions.get(point)?.length ?? 0) : code === 0 ? 0 : 1
        for (let k = 0; k < more; k++) places[count++] = first + i
        if (point > 0xffff) i++
      }
    }
  }
  return places.subarray(0, length)
}

/** Where a slice of a text ends that begins at `start`: not in the middle of a character. */
export function sliceEnd(text: string, start: number, end: number): number {
  const last = start + slice
  if (last >= end) return end
  return (text.charCodeAt(last - 1) & 0xfc00) === 0xd800 ? last + 1 : last
}

/** Where a run of code units of one kind ends. */
function runEnd(text: string, start: number, most: number, kind: number): number {
  let end = start
  while (end < most && ((entries[text.charCodeAt(end)] ?? 0) & kind) !== 0) end++
  return end
}

const none = new Uint8Array()
const scratch = Buffer.alloc(2 * slice + 2)

/** The code units of a text as numbers, which are read many times as fast. They are gone with the next call. */
export function codeUnits(text: string, start: number, end: number): Uint16Array {
  const size = (end - start) * 2
  const bytes = size <= scratch.length ? scratch : Buffer.alloc(size)
  bytes.write(start === 0 && end === text.length ? text : text.slice(start, end), 'utf16le')
  return new Uint16Array(bytes.buffer, bytes.byteOffset, size / 2)
}

/** The character that begins at a code unit. */
function pointAt(units: Uint16Array, at: number): number {
  const unit = units[at] ?? 0
  if ((unit & 0xfc00) !== 0xd800 || at + 1 >= units.length) return unit
  const next = units[at + 1] ?? 0
  return (next & 0xfc00) === 0xdc00 ? 0x10000 + ((unit & 0x3ff) << 10) + (next & 0x3ff) : unit
}

/** Makes room for so many bytes more, and one that is written and does not count. */
export function makeRoom(into: Canonical, more: number): void {
  const needed = into.length + more + 1
  if (needed > into.bytes.length) into.bytes = new Uint8Array(into.bytes.buffer.transfer(Math.ceil(needed * 1.2) + 64))
}

/** The canonical form of a short text, as bytes. */
export function canonicalBytes(text: string): Uint8Array {
  const into = emptyCanonical()
  appendCanonical(into, text)
  return into.bytes.slice(0, into.length)
}

/** The code of a character, 0 for one that is dropped; negative where it stands for several, see {@link expansions}. */
function codeOf(point: number): number {
  if (point > 0xffff) return upperCode(point)
  if ((point & 0xf800) === 0xd800) return 0
  const char = String.fromCharCode(point)
  const code = findCode(point, char)
  // What stands for several stays special.
  if (code >= 0) entries[point] = entryOf(code, char)
  return code
}

function upperCode(point: number): number {
  // Tags write ASCII invisibly; variation selectors behind them write nothing.
  if (point >= 0xe0000) return point >= 0xe0020 && point < 0xe007f ? asciiCode(point - 0xe0000) : 0
  // Ideographs all the way: none has a shorter form worth a table.
  if (point >= 0x20000) return otherCode(point)
  if (upperKnown[point - 0x10000] === 1) return upper[point - 0x10000] ?? 0
  const code = findCode(point, String.fromCodePoint(point))
  if (code >= 0) {
    upper[point - 0x10000] = code
    upperKnown[point - 0x10000] = 1
  }
  return code
}

function findCode(point: number, char: string): number {
  if (expansions.has(point)) return -1
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
  return -1
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
