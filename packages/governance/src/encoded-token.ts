import type { Suspicions } from './canonical.ts'
import type { Decoded } from './decoded.ts'

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
