import type { Suspicions } from './canonical.ts'

/** Text that was written in another way, with where each of its code units stood. */
export interface Decoded {
  readonly text: string
  /** Offset of each code unit in the text it was decoded from. */
  readonly from: Int32Array
  /** Stretches of `text` that do not belong together: starts and ends in turn. */
  readonly stretches: readonly number[]
  readonly as: 'url' | 'html' | 'json' | 'base64' | 'base64url' | 'hex'
}

/** Characters around an escape that are looked at with it, on each side. */
const around = 64

/**
 * Undoes escapes: `%41`, `\n`, `\u0041`, `\x41`, `&amp;`, `&#65;`, `=41`. What lies further than 64 letters and digits
 * from the next one is left out: it was looked at already.
 */
export function decodeEscapes(text: string, at: readonly number[]): Decoded | undefined {
  const writer = createWriter()
  const stretches: number[] = []
  let as: Decoded['as'] | undefined
  let next = 0
  while (next < at.length) {
    const first = parseEscape(text, at[next] ?? 0)
    if (!first) {
      next++
      continue
    }
    as ??= first.as
    let position = backFrom(text, first.start, stretches.length > 0 ? writer.lastFrom() : 0)
    stretches.push(writer.length())
    // A stretch goes on as long as the next escape is near.
    let left = around
    while (position < text.length) {
      while (next < at.length && (at[next] ?? 0) < position) next++
      const escape = at[next] === position ? parseEscape(text, position) : undefined
      if (escape) {
        for (const unit of escape.units) writer.put(unit, position)
        position = escape.end
        left = around
        continue
      }
      if (left === 0 && position > first.start) break
      const unit = text.charCodeAt(position)
      writer.put(unit, position)
      if (position > first.start && isWordUnit(unit)) left--
      position++
    }
    stretches.push(writer.length())
    while (next < at.length && (at[next] ?? 0) < position) next++
  }
  return as && { ...writer.done(), stretches, as }
}

/** Where {@link around} letters and digits before a position begin. */
function backFrom(text: string, position: number, lowest: number): number {
  let start = position
  for (let left = around; start > lowest && left > 0; start--) if (isWordUnit(text.charCodeAt(start - 1))) left--
  return start
}

function isWordUnit(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || unit >= 0xc0
}

interface Escape {
  readonly start: number
  readonly end: number
  readonly units: readonly number[]
  readonly as: 'url' | 'html' | 'json'
}

function parseEscape(text: string, start: number): Escape | undefined {
  switch (text.charCodeAt(start)) {
    case 37:
      return parseBytes(text, start, 'url')
    case 61:
      return parseBytes(text, start, 'url')
    case 92:
      return parseBackslash(text, start)
    case 38:
      return parseEntity(text, start)
    default:
      return undefined
  }
}

/** One character in UTF-8, each byte as two digits behind the mark: `%C3%A9`. Quoted-printable uses `=`. */
function parseBytes(text: string, start: number, as: Escape['as']): Escape | undefined {
  const mark = text.charCodeAt(start)
  // Quoted-printable breaks lines with one at the end.
  if (mark === 61 && (text[start + 1] === '\n' || text.startsWith('\r\n', start + 1))) {
    return { start, end: start + (text[start + 1] === '\n' ? 2 : 3), units: [], as }
  }
  const lead = hexAt(text, start + 1, 2)
  if (lead < 0) {
    if (mark === 37 && (text[start + 1] === 'u' || text[start + 1] === 'U')) {
      const unit = hexAt(text, start + 2, 4)
      if (unit >= 0) return { start, end: start + 6, units: [unit], as }
    }
    return undefined
  }
  const more = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf8 ? 3 : 0
  let point = more === 0 ? lead : lead & (0x3f >> more)
  let end = start + 3
  for (let n = 0; n < more; n++) {
    const byte = text.charCodeAt(end) === mark ? hexAt(text, end + 1, 2) : -1
    if (byte < 0x80 || byte > 0xbf) return { start, end: start + 3, units: [lead], as }
    point = (point << 6) | (byte & 0x3f)
    end += 3
  }
  return { start, end, units: unitsOf(point), as }
}

const letterEscapes = new Set('nrtbfv0ae')

function parseBackslash(text: string, start: number): Escape | undefined {
  // Text that was escaped more than once has several.
  let at = start
  while (text.charCodeAt(at) === 92) at++
  const letter = text[at]
  const as = 'json'
  if (letter === undefined) return { start, end: at, units: [], as }
  if (letter === 'u' || letter === 'U') {
    if (text[at + 1] === '{') {
      const close = text.indexOf('}', at)
      const point = close > 0 && close - at <= 8 ? hexAt(text, at + 2, close - at - 2) : -1
      if (point >= 0) return { start, end: close + 1, units: unitsOf(point), as }
    }
    const length = letter === 'U' && hexAt(text, at + 1, 8) >= 0 ? 8 : 4
    const point = hexAt(text, at + 1, length)
    if (point >= 0) return { start, end: at + 1 + length, units: unitsOf(point), as }
  }
  if (letter === 'x') {
    const byte = hexAt(text, at + 1, 2)
    if (byte >= 0) return { start, end: at + 3, units: [byte], as }
  }
  const octal = octalAt(text, at)
  if (octal >= 0x20) return { start, end: at + 3, units: [octal], as }
  return letterEscapes.has(letter) ? { start, end: at + 1, units: [32], as } : { start, end: at, units: [], as }
}

const entities: Readonly<Record<string, string>> = {
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
}

function parseEntity(text: string, start: number): Escape | undefined {
  const as = 'html'
  if (text[start + 1] === '#') {
    const hex = text[start + 2] === 'x' || text[start + 2] === 'X'
    let end = start + (hex ? 3 : 2)
    let point = 0
    const first = end
    for (let digit = digitAt(text, end, hex); digit >= 0 && end - first < 10; digit = digitAt(text, end, hex)) {
      point = point * (hex ? 16 : 10) + digit
      end++
    }
    if (end === first) return undefined
    return { start, end: text[end] === ';' ? end + 1 : end, units: unitsOf(point), as }
  }
  let end = start + 1
  while (end - start < 32 && isAsciiLetter(text.charCodeAt(end))) end++
  if (text[end] !== ';') return undefined
  const name = text.slice(start + 1, end)
  const char =
    entities[name] ?? (/^[A-Za-z](?:acute|grave|circ|uml|tilde|cedil|ring|slash|caron)$/.test(name) ? name[0] : '')
  return { start, end: end + 1, units: unitsOf(char?.codePointAt(0) ?? 32), as }
}

function isAsciiLetter(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90)
}

function digitAt(text: string, at: number, hex: boolean): number {
  const digit = hexDigit(text.charCodeAt(at))
  return digit < 10 || hex ? digit : -1
}

function hexAt(text: string, at: number, length: number): number {
  if (length === 0) return -1
  let value = 0
  for (let i = at; i < at + length; i++) {
    const digit = hexDigit(text.charCodeAt(i))
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

function octalAt(text: string, at: number): number {
  let value = 0
  for (let i = at; i < at + 3; i++) {
    const digit = text.charCodeAt(i) - 48
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

function unitsOf(point: number): readonly number[] {
  if (point < 0x10000) return [point]
  if (point > 0x10ffff) return []
  return [0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff)]
}

/** Collects code units with where they stood. */
function createWriter() {
  let units = new Uint16Array(256)
  let from = new Int32Array(256)
  let length = 0
  return {
    put(unit: number, position: number): void {
      if (length === units.length) {
        const [moreUnits, moreFrom] = [new Uint16Array(length * 2), new Int32Array(length * 2)]
        moreUnits.set(units)
        moreFrom.set(from)
        units = moreUnits
        from = moreFrom
      }
      units[length] = unit
      from[length++] = position
    },
    length: (): number => length,
    lastFrom: (): number => (length > 0 ? (from[length - 1] ?? 0) + 1 : 0),
    done: (): { text: string; from: Int32Array } => ({
      text: Buffer.from(units.buffer, 0, length * 2).toString('utf16le'),
      from: from.subarray(0, length),
    }),
  }
}

/** Bytes that text consists of, by their first byte: 1 alone, 2–4 the length of a sequence in UTF-8. */
const lengths = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0 || byte === 9 || byte === 10 || byte === 13 || (byte >= 32 && byte < 127)) return 1
  return byte >= 0xc2 && byte < 0xe0 ? 2 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xf0 && byte < 0xf5 ? 4 : 0
})

/** A byte that is no text costs as much as so many that are. */
const penalty = 3
/** So many bytes of text, less what the others cost, make a stretch. In random bytes there is one in ten thousand. */
const enough = 12

/**
 * Decodes tokens of base64 (both alphabets) and hexadecimal, also where lines were broken. A token may begin before or
 * behind the first character of what was encoded, so all alignments are tried; what comes out is taken where it is text.
 *
 * @param shortest bytes below which nothing is decoded.
 */
export function decodeTokens(
  text: string,
  tokens: Suspicions['tokens'],
  shortest: number,
  found: (decoded: Decoded) => void,
): void {
  for (let n = 0; n < tokens.length; n += 2) {
    const start = tokens[n] ?? 0
    let end = tokens[n + 1] ?? 0
    // Lines that were broken: the tokens behind one another with nothing but white space between them.
    let broken = false
    while (n + 2 < tokens.length && isLineBreak(text, end, tokens[n + 2] ?? 0)) {
      end = tokens[n + 3] ?? 0
      n += 2
      broken = true
    }
    if (end - start < shortest) continue
    decodeToken(text, start, broken ? withLastLine(text, end) : end, broken, shortest, found)
  }
}

/** The last line of broken text may be short. */
function withLastLine(text: string, end: number): number {
  const [{ length } = ''] = /^[ \t]*\r?\n[ \t]*[\w+/-]{1,15}(?![\w+/-])/.exec(text.slice(end, end + 32)) ?? []
  return end + length
}

function isLineBreak(text: string, from: number, to: number): boolean {
  return to - from <= 16 && text.slice(from, to).trim() === ''
}

function decodeToken(
  text: string,
  start: number,
  end: number,
  broken: boolean,
  shortest: number,
  found: (decoded: Decoded) => void,
): void {
  const token = broken ? text.slice(start, end).replaceAll(/\s/g, '') : text.slice(start, end)
  const places = broken ? placesOf(text, start, end, token.length) : undefined
  const hex = token.length >= 2 * shortest && /^[\da-f-]+$/i.test(token)
  if (hex) decodeHexToken(token, start, places, shortest, found)
  const as = /[-_]/.test(token) ? 'base64url' : 'base64'
  for (let shift = 0; shift < 4; shift++) {
    const bytes = Buffer.from(shift === 0 ? token : token.slice(shift), 'base64')
    textIn(bytes, shortest, (from, to) => {
      found(written(bytes, from, to, as, (byte) => placeAt(shift + Math.floor((byte * 4) / 3), start, places)))
    })
  }
}

function decodeHexToken(
  token: string,
  start: number,
  places: Int32Array | undefined,
  shortest: number,
  found: (decoded: Decoded) => void,
): void {
  const dashed = token.includes('-')
  const digits = dashed ? token.replaceAll('-', '') : token
  for (let shift = 0; shift < 2; shift++) {
    const bytes = Buffer.from(digits.slice(shift), 'hex')
    // Where dashes were is not worth knowing exactly.
    const scale = token.length / digits.length
    textIn(bytes, shortest, (from, to) => {
      found(written(bytes, from, to, 'hex', (byte) => placeAt(Math.floor((shift + byte * 2) * scale), start, places)))
    })
  }
}

/** Hexadecimal with something between the bytes: `48 65 6c`, `48:65:6c`, `0x48, 0x65`. */
export function decodeSpacedHex(text: string, shortest: number, found: (decoded: Decoded) => void): void {
  for (const match of text.matchAll(spacedHex)) {
    const pairs = [...match[0].matchAll(/(?:0x)?([\da-f]{2})/gi)]
    if (pairs.length < shortest) continue
    const bytes = Buffer.from(pairs.map(([, pair]) => pair).join(''), 'hex')
    textIn(bytes, shortest, (from, to) => {
      found(written(bytes, from, to, 'hex', (byte) => match.index + (pairs[byte]?.index ?? match[0].length)))
    })
  }
}

// What may stand between two bytes is bounded and cannot be read in two ways, so a failed try is short.
const spacedHex = /(?:(?:0x)?[\da-f]{2}[\s:,;]{1,2}){11,}(?:0x)?[\da-f]{2}/gi

function placesOf(text: string, start: number, end: number, count: number): Int32Array {
  const places = new Int32Array(count)
  for (let i = start, n = 0; i < end; i++) if (!/\s/.test(text.charAt(i))) places[n++] = i
  return places
}

function placeAt(index: number, start: number, places: Int32Array | undefined): number {
  return places ? (places[Math.min(index, places.length - 1)] ?? start) : start + index
}

/** Finds the stretches of bytes that are text for the most part: up to a quarter of other bytes hides none. */
function textIn(bytes: Uint8Array, shortest: number, found: (from: number, to: number) => void): void {
  let [score, best, from, to] = [0, 0, 0, 0]
  for (let i = 0; i < bytes.length;) {
    const byte = bytes[i] ?? 0
    const length = byte >= 32 && byte < 127 ? 1 : textLength(bytes, i, byte)
    if (length > 0) {
      if (score === 0) [from, best] = [i, 0]
      score += length
      i += length
      to = i
      if (score > best) best = score
      // A long text is not cut short by one stretch of something else behind it.
      if (score > mostScore) score = mostScore
      continue
    }
    i++
    if (score === 0) continue
    score = Math.max(0, score - penalty)
    if (score === 0 && best >= enough && to - from >= shortest) found(from, to)
  }
  if (score > 0 && best >= enough && to - from >= shortest) found(from, to)
}

const mostScore = 96

/** How many bytes from here on are one character; 0 for what is none. */
function textLength(bytes: Uint8Array, at: number, byte: number): number {
  const length = lengths[byte] ?? 0
  if (at + length > bytes.length) return 0
  for (let n = 1; n < length; n++) if (((bytes[at + n] ?? 0) & 0xc0) !== 0x80) return 0
  return length
}

function written(
  bytes: Buffer,
  from: number,
  to: number,
  as: Decoded['as'],
  placeOf: (byte: number) => number,
): Decoded {
  const text = bytes.toString('utf8', from, to)
  const places = new Int32Array(text.length)
  let byte = from
  for (let i = 0; i < text.length; i++) {
    places[i] = placeOf(byte)
    const unit = text.charCodeAt(i)
    // Bytes that are no text come as U+FFFD, mostly one by one.
    byte += unit < 0x80 || unit === 0xfffd ? 1 : unit < 0x800 ? 2 : unit >= 0xd800 && unit < 0xe000 ? 2 : 3
  }
  return { text, from: places, stretches: [0, text.length], as }
}
