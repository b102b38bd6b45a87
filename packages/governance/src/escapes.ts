import type { Decoded } from './decoded.ts'

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
