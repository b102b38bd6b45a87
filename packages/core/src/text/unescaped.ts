import { decodeHTML } from 'entities/decode'

import type { DecodedText } from './decoded-text.ts'

const percent = 37
const ampersand = 38
const backslash = 92

/** Returns whether a text has a character that begins an escape. */
export function mayEscape(text: string): boolean {
  return text.includes('\\') || text.includes('%') || text.includes('&')
}

/**
 * Decodes one level of escapes of URLs, JSON, JavaScript and HTML: `%41`, `%u0041`, `\/`, `\u0041`, `\u{41}`, `\x41`,
 * `\101`, `&sol;`, `&#47;`, `&#x2f`. Undefined where there are none.
 *
 * @param above the text that this one was decoded from; positions then refer to the original of that one.
 */
export function unescaped(text: string, above?: DecodedText): DecodedText | undefined {
  if (!mayEscape(text)) return undefined
  // No escape is shorter than the character it encodes.
  const writer: Writer = { units: new Uint16Array(text.length), places: new Uint32Array(text.length), length: 0 }
  const { units, places } = writer
  let any = false
  for (let at = 0; at < text.length;) {
    const unit = text.charCodeAt(at)
    const end = unit === backslash || unit === percent || unit === ampersand ? writeEscape(writer, text, at, unit) : at
    if (end > at) {
      any = true
      at = end
      continue
    }
    units[writer.length] = unit
    places[writer.length++] = at++
  }
  if (!any) return undefined
  const { length } = writer
  const placeOf = (index: number): number => {
    const place = index < length ? (places[index] ?? 0) : text.length
    return above ? above.placeOf(place) : place
  }
  return { text: textOf(units.subarray(0, length)), placeOf, endOf: placeOf }
}

/** Not decoded: half of a surrogate pair stays as it is. */
export function textOf(units: Uint8Array | Uint16Array): string {
  let text = ''
  for (let at = 0; at < units.length; at += 8192) text += String.fromCharCode(...units.subarray(at, at + 8192))
  return text
}

interface Writer {
  readonly units: Uint16Array<ArrayBuffer>
  readonly places: Uint32Array
  length: number
}

function put(writer: Writer, point: number, place: number): void {
  if (point > 0xffff) {
    put(writer, 0xd800 + ((point - 0x10000) >> 10), place)
    put(writer, 0xdc00 + ((point - 0x10000) & 0x3ff), place)
    return
  }
  writer.units[writer.length] = point
  writer.places[writer.length++] = place
}

/** Writes the decoded escape that begins at a position; returns where it ends, or the same position if there is none. */
function writeEscape(writer: Writer, text: string, at: number, mark: number): number {
  if (mark === ampersand) return writeEntity(writer, text, at)
  const next = text.charCodeAt(at + 1)
  if (mark === percent) {
    if ((next | 32) === 117) return writePoint(writer, text, at, hexAt(text, at + 2, 4), at + 6)
    return writeByte(writer, text, at, 3)
  }
  const plain = letters[next] ?? -1
  if (plain >= 0) return writePoint(writer, text, at, plain, at + 2)
  if ((next | 32) === 120) return writeByte(writer, text, at, 4)
  if ((next | 32) === 117) {
    if (text.charCodeAt(at + 2) !== 123) return writePoint(writer, text, at, hexAt(text, at + 2, 4), at + 6)
    const digits = /^[\da-f]{1,16}(?=\})/i.exec(text.slice(at + 3, at + 20))?.[0]
    if (digits === undefined) return at
    return writePoint(writer, text, at, Number.parseInt(digits, 16), at + digits.length + 4)
  }
  const octal = text.slice(at + 1, at + 4)
  if (/^[0-3][0-7]{2}$/.test(octal)) return writePoint(writer, text, at, Number.parseInt(octal, 8), at + 4)
  return next === 48 ? writePoint(writer, text, at, 0, at + 2) : at
}

function writePoint(writer: Writer, text: string, at: number, point: number, end: number): number {
  if (point < 0 || point > 0x10ffff || end > text.length) return at
  put(writer, point, at)
  return end
}

/** By character code, the character that a backslash escape encodes; -1 for others. */
const letters: readonly number[] = Array.from({ length: 128 }, (_, code) => {
  const at = 'bfnrtv"\'`\\/'.indexOf(String.fromCharCode(code))
  return at < 0 ? -1 : '\b\f\n\r\t\v"\'`\\/'.charCodeAt(at)
})

/** Writes one character of a run of bytes, each `width` characters long: UTF-8 where valid, else the byte itself. */
function writeByte(writer: Writer, text: string, at: number, width: number): number {
  const byteAt = (place: number): number =>
    text.charCodeAt(place) === text.charCodeAt(at) && (width === 3 || (text.charCodeAt(place + 1) | 32) === 120)
      ? hexAt(text, place + width - 2, 2)
      : -1
  const lead = byteAt(at)
  if (lead < 0) return at
  const more = lead < 0xc2 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : 0
  let point = more === 0 ? lead : lead & (0x3f >> more)
  let end = at + width
  for (let n = 0; n < more; n++, end += width) {
    const byte = byteAt(end)
    if (byte >> 6 !== 2) return writePoint(writer, text, at, lead, at + width)
    point = (point << 6) | (byte & 0x3f)
  }
  return writePoint(writer, text, at, Math.min(point, 0x10ffff), end)
}

/** One HTML entity. Leading zeros are bounded, so that the held end of a stream is bounded too. */
const entity = /&(?:#\d{1,16}|#x[\da-f]{1,16}|[a-z][a-z\d]{1,31});?/iy

function writeEntity(writer: Writer, text: string, at: number): number {
  entity.lastIndex = at
  const written = entity.exec(text)?.[0]
  const read = written === undefined ? '' : decodeHTML(written)
  if (written === undefined || read === written) return at
  const end = at + written.length
  const first = read.codePointAt(0) ?? 0
  put(writer, first, at)
  const rest = read.slice(first > 0xffff ? 2 : 1)
  // `&ampersand` is `&` and literal letters.
  if (rest !== '' && written.endsWith(rest)) return end - rest.length
  for (const char of rest) put(writer, char.codePointAt(0) ?? 0, at)
  return end
}

function hexAt(text: string, at: number, length: number): number {
  let value = 0
  for (let i = at; i < at + length; i++) {
    const unit = text.charCodeAt(i)
    const letter = unit | 32
    const digit = unit >= 48 && unit <= 57 ? unit - 48 : letter >= 97 && letter <= 102 ? letter - 87 : -1
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

/** Matches the possible beginning of an escape at the end of a text. */
const unfinished =
  /(?:(?:%[89a-f][\da-f]){1,3}|(?:\\x[89a-f][\da-f]){1,3})?(?:%(?:u[\da-f]{0,3}|[\da-f])?|\\(?:u(?:[\da-f]{0,3}|\{[\da-f]{0,16})|x[\da-f]?|[0-3][0-7]?)?|&(?:#(?:\d{0,16}|x[\da-f]{0,16})|[a-z][a-z\d]{0,31})?)?$/i
const longestEscape = 48

/** Returns where the possible beginning of an escape starts at the end of a text; its length if there is none. */
export function unfinishedFrom(text: string): number {
  const from = Math.max(0, text.length - longestEscape)
  const tail = from === 0 ? text : text.slice(from)
  return mayEscape(tail) ? from + tail.search(unfinished) : text.length
}
