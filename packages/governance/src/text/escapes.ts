import type { Decoded } from './decoded.ts'
import { copy, createTextMap, placeOf, put, takeBack } from './text-map.ts'
import type { TextMap } from './text-map.ts'

/** Characters on each side of an escape that are decoded with it. */
const around = 64

/**
 * Decodes escapes: `%41`, `\n`, `\u0041`, `\x41`, `&amp;`, `&#65;`, `=41`. Text further than 64 letters and digits from
 * the next escape is omitted, since it was already searched.
 */
export function decodeEscapes(text: string, at: readonly number[]): Decoded | undefined {
  const writer = createTextMap(text)
  const { source } = writer
  const stretches: number[] = []
  let as: Decoded['as'] | undefined
  let next = 0
  while (next < at.length) {
    const first = at[next] ?? 0
    const firstEnd = writeEscape(writer, first)
    if (firstEnd < 0) {
      next++
      continue
    }
    as ??= marks.get(source[first] ?? 0)
    // The check has written the escape: it is written again, behind the text before it.
    takeBack(writer, stretches.at(-1) ?? 0)
    stretches.push(writer.length)
    copy(writer, backFrom(source, first, placeOf(writer, writer.length - 1) + 1), first)
    let position = writeEscape(writer, first)
    // A span continues while the next escape is near.
    for (;;) {
      while (next < at.length && (at[next] ?? 0) < position) next++
      const escape = next < at.length ? (at[next] ?? 0) : source.length
      const end = escape - position <= around ? escape : forwardFrom(source, position, escape)
      copy(writer, position, end)
      position = end
      if (end < escape || escape === source.length) break
      const after = writeEscape(writer, escape)
      if (after < 0) {
        // An invalid escape is an ordinary character.
        copy(writer, escape, escape + 1)
        position = escape + 1
        next++
        continue
      }
      position = after
    }
    stretches.push(writer.length)
    while (next < at.length && (at[next] ?? 0) < position) next++
  }
  return as && decodedFrom(writer, stretches, as)
}

/** The decoders by the first character of an escape. */
const marks: ReadonlyMap<number, Decoded['as']> = new Map([
  [37, 'url'],
  [61, 'url'],
  [92, 'json'],
  [38, 'html'],
])

/** Returns the start of {@link around} letters and digits before a position. */
function backFrom(source: Uint16Array, position: number, lowest: number): number {
  let start = position
  for (let left = around; start > lowest && left > 0; start--) left -= isWordUnit(source[start - 1] ?? 0)
  return start
}

/** Returns the end of {@link around} letters and digits behind a position. */
function forwardFrom(source: Uint16Array, position: number, most: number): number {
  let end = position
  for (let left = around; end < most && left > 0; end++) left -= isWordUnit(source[end] ?? 0)
  return end
}

/** 1 for letters and digits. */
function isWordUnit(unit: number): 0 | 1 {
  return (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || unit >= 0xc0 ? 1 : 0
}

function decodedFrom(writer: TextMap, spans: readonly number[], as: Decoded['as']): Decoded {
  const { units, length } = writer
  const text = Buffer.from(units.buffer, 0, length * 2).toString('utf16le')
  return {
    text,
    spans,
    as,
    placeOf: (index) => (index < length ? placeOf(writer, index) : placeOf(writer, length - 1) + 1),
  }
}

/** Decodes the escape that starts at `start`. Returns its end, or -1 if there is none. */
function writeEscape(writer: TextMap, start: number): number {
  switch (writer.source[start]) {
    case 37:
    case 61:
      return writeBytes(writer, start)
    case 92:
      return writeBackslash(writer, start)
    case 38:
      return writeEntity(writer, start)
    case undefined:
    default:
      return -1
  }
}

/** Decodes one UTF-8 character, each byte as two digits behind the mark: `%C3%A9`. Quoted-printable uses `=`. */
function writeBytes(writer: TextMap, start: number): number {
  const { source } = writer
  const mark = source[start] ?? 0
  // Quoted-printable breaks lines with one at the end.
  if (mark === 61 && source[start + 1] === 10) return start + 2
  if (mark === 61 && source[start + 1] === 13 && source[start + 2] === 10) return start + 3
  const lead = hexAt(source, start + 1, 2)
  if (lead < 0) {
    const unit = mark === 37 && ((source[start + 1] ?? 0) | 32) === 117 ? hexAt(source, start + 2, 4) : -1
    if (unit < 0) return -1
    put(writer, unit, start)
    return start + 6
  }
  const more = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf8 ? 3 : 0
  let point = more === 0 ? lead : lead & (0x3f >> more)
  let end = start + 3
  for (let n = 0; n < more; n++) {
    const byte = source[end] === mark ? hexAt(source, end + 1, 2) : -1
    if (byte < 0x80 || byte > 0xbf) {
      put(writer, lead, start)
      return start + 3
    }
    point = (point << 6) | (byte & 0x3f)
    end += 3
  }
  put(writer, point, start)
  return end
}

const letterEscapes: ReadonlySet<number> = new Set(Array.from('nrtbfv0ae', (letter) => letter.charCodeAt(0)))

function writeBackslash(writer: TextMap, start: number): number {
  const { source } = writer
  // Text that was escaped more than once has several.
  let at = start
  while (source[at] === 92) at++
  const letter = source[at] ?? 0
  if (letter === 117 || letter === 85) {
    if (source[at + 1] === 123) {
      let close = at + 2
      while (close - at < 9 && hexDigit(source[close] ?? 0) >= 0) close++
      if (close > at + 2 && source[close] === 125) {
        put(writer, hexAt(source, at + 2, close - at - 2), start)
        return close + 1
      }
    }
    const length = letter === 85 && hexAt(source, at + 1, 8) >= 0 ? 8 : 4
    const point = hexAt(source, at + 1, length)
    if (point >= 0) {
      put(writer, point, start)
      return at + 1 + length
    }
  }
  const byte = letter === 120 ? hexAt(source, at + 1, 2) : -1
  if (byte >= 0) {
    put(writer, byte, start)
    return at + 3
  }
  const octal = octalAt(source, at)
  if (octal >= 0x20) {
    put(writer, octal, start)
    return at + 3
  }
  if (!letterEscapes.has(letter)) return at
  put(writer, 32, start)
  return at + 1
}

const entities: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    commat: '@',
    period: '.',
    colon: ':',
    sol: '/',
    lowbar: '_',
    percnt: '%',
    bsol: '\\',
    equals: '=',
  }),
)
/** Entity names of letters with a mark, and of script, fraktur and double-struck ones, start with the letter. */
const letterEntity =
  /^[A-Za-z](?:acute|grave|circ|uml|tilde|cedil|ring|slash|caron|macr|breve|ogon|dot|dblac|strok|fr|scr|opf)$/

function writeEntity(writer: TextMap, start: number): number {
  const { source, text } = writer
  if (source[start + 1] === 35) {
    const hex = ((source[start + 2] ?? 0) | 32) === 120
    const first = start + (hex ? 3 : 2)
    let end = first
    let point = 0
    for (let digit = digitAt(source, end, hex); digit >= 0 && end - first < 10; digit = digitAt(source, end, hex)) {
      point = point * (hex ? 16 : 10) + digit
      end++
    }
    if (end === first) return -1
    put(writer, point, start)
    return source[end] === 59 ? end + 1 : end
  }
  let end = start + 1
  while (end - start < 32 && isAsciiLetter(source[end] ?? 0)) end++
  if (source[end] !== 59) return -1
  const name = text.slice(start + 1, end)
  const char = entities.get(name) ?? (letterEntity.test(name) ? name : ' ')
  put(writer, char.charCodeAt(0), start)
  return end + 1
}

function isAsciiLetter(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90)
}

function digitAt(source: Uint16Array, at: number, hex: boolean): number {
  const digit = hexDigit(source[at] ?? 0)
  return digit < 10 || hex ? digit : -1
}

function hexAt(source: Uint16Array, at: number, length: number): number {
  let value = 0
  for (let i = at; i < at + length; i++) {
    const digit = hexDigit(source[i] ?? 0)
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

function octalAt(source: Uint16Array, at: number): number {
  let value = 0
  for (let i = at; i < at + 3; i++) {
    const digit = (source[i] ?? 0) - 48
    if (!(digit >= 0 && digit < 8)) return -1
    value = value * 8 + digit
  }
  return value
}

function hexDigit(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 48
  const lower = unit | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}
