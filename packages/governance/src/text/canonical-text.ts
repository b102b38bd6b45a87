import { lookalikes } from '@provost/core'

/**
 * Canonical text has one byte per character: letters and digits only, without accents. Lookalikes become the Latin
 * letter that they resemble, and width and style variants (NFKC) their plain form. White space, punctuation, symbols,
 * control characters and invisible ones are dropped.
 *
 * 1–26 are a–z, 27–36 are 0–9, 37–62 are A–Z; letters of other scripts share 63–255. 0 never occurs.
 */
const firstDigit = 27
const firstUpper = 37
const firstOther = 63
const otherCodes = 193

/** The code for comparison, by code: upper case folded to lower case. */
export const folded: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= firstUpper && code < firstOther ? code - firstUpper + 1 : code,
)
/** A letter and the one thirteen further are one. */
export const foldedTwice: Uint8Array = folded.map((code) => (code >= 1 && code <= 26 ? ((code - 1) % 13) + 1 : code))
/** Rot13 of the folded code. */
export const rotated: Uint8Array = folded.map((code) => (code >= 1 && code <= 26 ? ((code + 12) % 26) + 1 : code))

/** Returns whether a code is a digit. */
export function isDigitCode(code: number): boolean {
  return code >= firstDigit && code < firstUpper
}

/** Beside the code of a code unit. It is a letter or a digit: the code is not 0. */
const kept = 1 << 8
/** It may begin something encoded: percent, backslash, ampersand, equals sign. */
const escape = 1 << 9
/** The code unit is unknown yet, a surrogate, or expands to several letters. */
const special = 1 << 10

/** Code units by number, found when first met. */
const entries: Uint16Array = new Uint16Array(0x10000).fill(special)
const asciiEntries = new Uint16Array(128)
/** Codes of the characters above, found when first met. */
const upper = new Uint8Array(0x10000)
const upperKnown = new Uint8Array(0x10000)
const expansions = new Map<number, Uint8Array>()
for (let char = 0; char < 128; char++) entries[char] = entryOf(asciiCode(char), String.fromCharCode(char))
asciiEntries.set(entries.subarray(0, 128))

function asciiCode(char: number): number {
  if (char >= 97 && char <= 122) return char - 96
  if (char >= 48 && char <= 57) return char - 48 + firstDigit
  if (char >= 65 && char <= 90) return char - 65 + firstUpper
  return 0
}

function entryOf(code: number, char: string): number {
  return code | (/[%\\&=]/.test(char) ? escape : 0) | (code === 0 ? 0 : kept)
}

/** Canonical text. The array may be longer than `length`. */
export interface Canonical {
  bytes: Uint8Array<ArrayBuffer>
  length: number
}

/** Returns an empty canonical text to write to. */
export function emptyCanonical(): Canonical {
  return { bytes: new Uint8Array(512), length: 0 }
}

/** Facts about a text, found during the conversion. */
export interface Notes {
  /** Positions where an escape may start. */
  readonly escapes: number[]
  /** All of it was ASCII. */
  isAscii: boolean
  /** For each slice where it begins and ends in the text, and where it begins in the canonical form. */
  readonly slices: number[]
}

/** Code units per slice, so that buffers stay small. */
const slice = 8_192

/** Appends a break, which no match crosses. */
export function appendBreak(into: Canonical): void {
  makeRoom(into, 1)
  into.bytes[into.length++] = 0
}

/** Appends the canonical form of a stretch of a text, and notes what it may hold besides. */
export function appendCanonical(
  into: Canonical,
  text: string,
  notes?: Notes,
  start: number = 0,
  end: number = text.length,
): void {
  makeRoom(into, end - start)
  for (let first = start, last = start; first < end; first = last) {
    last = sliceEnd(text, first, end)
    notes?.slices.push(first, last, into.length)
    const written = text.slice(first, last)
    // In UTF-8 only ASCII takes as many bytes as it has code units.
    if (scratch.write(written, 'utf8') === last - first) {
      appendAscii(into, last - first, first, notes)
      continue
    }
    if (notes) notes.isAscii = false
    appendUnits(into, codeUnits(written, 0, last - first), first, notes)
  }
}

/** Appends the canonical form of text in bytes. */
function appendAscii(into: Canonical, count: number, first: number, notes: Notes | undefined): void {
  makeRoom(into, count)
  const { bytes } = into
  let { length } = into
  // The loop has no unpredictable branch per letter: dropped letters are overwritten by the next ones, and rare ones
  // need one test.
  for (let i = 0; i < count; i++) {
    const entry = asciiEntries[scratch[i] ?? 0] ?? 0
    bytes[length] = entry
    length += (entry >>> 8) & 1
    if (entry >= escape) notes?.escapes.push(first + i)
  }
  into.length = length
}

function appendUnits(into: Canonical, units: Uint16Array, first: number, notes: Notes | undefined): void {
  const count = units.length
  makeRoom(into, count)
  let { bytes, length } = into
  for (let i = 0; i < count; i++) {
    const entry = entries[units[i] ?? 0] ?? 0
    bytes[length] = entry
    length += (entry >>> 8) & 1
    if (entry < escape) continue
    if (entry < special) {
      notes?.escapes.push(first + i)
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
      // Room for the expansion and for the rest of the text.
      makeRoom(into, expansion.length + count - i)
      bytes = into.bytes
      for (const one of expansion) bytes[length++] = one
    }
    if (point > 0xffff) i++
  }
  into.length = length
}

/** Returns the position in the text of a character of the canonical text, in UTF-16 code units; below 0 for none. */
export type Places = (index: number) => number

/** Most checks find nothing and need no positions, so positions are computed per slice on demand. */
export function placesIn(text: string, slices: Notes['slices'], { length }: Canonical): Places {
  const known: Int32Array[] = []
  return (index) => {
    let [low, high] = [0, slices.length / 3 - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((slices[3 * middle + 2] ?? 0) <= index) low = middle
      else high = middle - 1
    }
    const [first = 0, last = 0, begin = 0, , , end = length] = slices.slice(3 * low, 3 * low + 6)
    const places = (known[low] ??= placesOf(text, first, last, end - begin))
    return places[index - begin] ?? -2
  }
}

function placesOf(text: string, first: number, last: number, most: number): Int32Array {
  const units = codeUnits(text, first, last)
  // A dropped character at the end is written but does not count.
  const places = new Int32Array(most + 1)
  let count = 0
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
  return places.subarray(0, count)
}

/** Returns the end of a slice that starts at `start`, never inside a character. */
export function sliceEnd(text: string, start: number, end: number): number {
  const last = start + slice
  if (last >= end) return end
  return (text.charCodeAt(last - 1) & 0xfc00) === 0xd800 ? last + 1 : last
}

const none = new Uint8Array()
/** Room for a slice and a unit more, each of which takes up to three bytes in UTF-8. */
const scratch = Buffer.alloc(3 * slice + 3)

/** Returns the code units of a text as numbers, which are much faster to read. The next call overwrites them. */
export function codeUnits(text: string, start: number, end: number): Uint16Array {
  const size = (end - start) * 2
  const bytes = size <= scratch.length ? scratch : Buffer.alloc(size)
  bytes.write(text.slice(start, end), 'utf16le')
  return new Uint16Array(bytes.buffer, bytes.byteOffset, size / 2)
}

/** Returns the character that starts at a code unit. */
function pointAt(units: Uint16Array, at: number): number {
  const unit = units[at] ?? 0
  if ((unit & 0xfc00) !== 0xd800 || at + 1 >= units.length) return unit
  const next = units[at + 1] ?? 0
  return (next & 0xfc00) === 0xdc00 ? 0x10000 + ((unit & 0x3ff) << 10) + (next & 0x3ff) : unit
}

/** Makes room for this many more bytes, and for one that is written but does not count. */
export function makeRoom(into: Canonical, more: number): void {
  const needed = into.length + more + 1
  if (needed > into.bytes.length) into.bytes = new Uint8Array(into.bytes.buffer.transfer(Math.ceil(needed * 1.2) + 64))
}

/** Returns the canonical form of a short text, as bytes. */
export function canonicalBytes(text: string): Uint8Array {
  const into = emptyCanonical()
  appendCanonical(into, text)
  return into.bytes.slice(0, into.length)
}

/**
 * Returns the code of a character: 0 if it is dropped, negative if it expands to several letters (see {@link
 * expansions}).
 */
function codeOf(point: number): number {
  if (point > 0xffff) return upperCode(point)
  if ((point & 0xf800) === 0xd800) return 0
  const char = String.fromCharCode(point)
  const code = findCode(point, char)
  // A character that expands stays special.
  if (code >= 0) entries[point] = entryOf(code, char)
  return code
}

function upperCode(point: number): number {
  // Tags encode ASCII invisibly; variation selectors behind them encode nothing.
  if (point >= 0xe0000) return point >= 0xe0020 && point < 0xe007f ? asciiCode(point - 0xe0000) : 0
  // Ideographs have no shorter form, so a table is not worth its cost.
  if (point >= 0x20000) return otherCode(point)
  if (upperKnown[point - 0x10000] === 1) return upper[point - 0x10000] ?? 0
  const code = findCode(point, String.fromCodePoint(point))
  if (code >= 0) {
    upper[point - 0x10000] = code
    upperKnown[point - 0x10000] = 1
  }
  return code
}

/** The most letters that one character expands to. */
const longestExpansion = 6

function findCode(point: number, char: string): number {
  if (expansions.has(point)) return -1
  // Invisible letters, such as fillers, are not letters.
  if (/\p{Default_Ignorable_Code_Point}/u.test(char)) return 0
  const written = lookalikes.get(char) ?? char.normalize('NFKD')
  const found: number[] = []
  for (const one of written) {
    const code = simpleCode(one)
    if (code !== 0) found.push(code)
  }
  const [first = 0] = found
  // A sign that expands to a sentence is one letter, so that a short text stays short.
  if (found.length > longestExpansion) return otherCode(point)
  if (found.length < 2) return first
  expansions.set(point, Uint8Array.from(found))
  return -1
}

/** Returns the code of a character that has no decomposition. */
function simpleCode(char: string): number {
  const point = char.codePointAt(0) ?? 0
  if (point < 128) return asciiCode(point)
  if (!/[\p{L}\p{N}]/u.test(char)) return 0
  if (/\p{Nd}/u.test(char)) return firstDigit + digitValue(point)
  const latin = lookalikes.get(char) ?? lookalikes.get(char.toLowerCase()) ?? stroked.get(char.toLowerCase())
  if (latin !== undefined) return asciiCode(latin.charCodeAt(0))
  return otherCode(char.toLowerCase().codePointAt(0) ?? point)
}

/** Latin letters whose stroke or tail is not a separable mark. */
const stroked: ReadonlyMap<string, string> = new Map(
  Object.entries({ ø: 'o', đ: 'd', ð: 'd', ł: 'l', ħ: 'h', ŧ: 't', ƀ: 'b', ɨ: 'i', ɍ: 'r', ß: 's', æ: 'a', œ: 'o' }),
)

/** Digits are in blocks of ten that start with zero. */
function digitValue(point: number): number {
  let before = 0
  while (before < 9 && /\p{Nd}/u.test(String.fromCodePoint(point - before - 1))) before++
  return before
}

function otherCode(point: number): number {
  return firstOther + ((Math.imul(point, 0x9e3779b1) >>> 8) % otherCodes)
}
