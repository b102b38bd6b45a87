import type { Decoded } from './decoded.ts'
import type { Runs } from './encoded-runs.ts'
import { textIn } from './readable-bytes.ts'

/**
 * Decodes tokens of base64 (both alphabets) and hexadecimal, also over line breaks. A token may start before or behind
 * the first encoded character, so all alignments are tried. A result that is text is kept.
 *
 * @param first the token to begin with; several are decoded in one go.
 * @param shortest bytes below which no token is decoded.
 * @returns the next token.
 */
export function decodeTokens(
  text: string,
  tokens: Runs,
  first: number,
  shortest: number,
  found: (decoded: Decoded) => void,
): number {
  let looked = 0
  let n = first
  for (; n < tokens.length && looked < together; n += 2) {
    const start = tokens[n] ?? 0
    let end = tokens[n + 1] ?? 0
    // Broken lines: consecutive tokens that are separated by white space only.
    let broken = false
    while (n + 2 < tokens.length && isLineBreak(text, end, tokens[n + 2] ?? 0)) {
      end = tokens[n + 3] ?? 0
      n += 2
      broken = true
    }
    if (end - start < shortest) continue
    looked += end - start
    decodeToken(text, start, broken ? withLastLine(text, end) : end, broken, shortest, found)
  }
  return n
}

/** Characters of tokens that are decoded in one go. */
const together = 16_384

/** Returns the end, extended by a last line that may be shorter. */
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
    // The exact positions of dashes do not matter.
    const scale = token.length / digits.length
    textIn(bytes, shortest, (from, to) => {
      found(written(bytes, from, to, 'hex', (byte) => placeAt(Math.floor((shift + byte * 2) * scale), start, places)))
    })
  }
}

/** Hexadecimal with something between the bytes: `48 65 6c`, `48:65:6c`, `0x48, 0x65`. */
export function decodeSpacedHex(
  text: string,
  stretches: Runs,
  shortest: number,
  found: (decoded: Decoded) => void,
): void {
  for (let n = 0; n < stretches.length; n += 2) {
    const start = stretches[n] ?? 0
    for (const match of text.slice(start, stretches[n + 1]).matchAll(spacedHex)) {
      const { bytes, places } = pairsOf(match[0])
      if (bytes.length < shortest) continue
      textIn(bytes, shortest, (from, to) => {
        found(written(bytes, from, to, 'hex', (byte) => start + match.index + (places[byte] ?? match[0].length)))
      })
    }
  }
}

/** Returns the bytes of spaced hexadecimal, and the positions of the digits of each. */
function pairsOf(text: string): { readonly bytes: Buffer; readonly places: Int32Array } {
  const most = Math.ceil(text.length / 2)
  const bytes = Buffer.alloc(most)
  const places = new Int32Array(most)
  let count = 0
  for (let i = 0; i + 1 < text.length;) {
    const [high, low] = [hexValue(text.charCodeAt(i)), hexValue(text.charCodeAt(i + 1))]
    if (high < 0 || low < 0) {
      i++
      continue
    }
    bytes[count] = high * 16 + low
    places[count++] = i
    i += 2
  }
  return { bytes: bytes.subarray(0, count), places }
}

function hexValue(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 48
  const lower = unit | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

// The separator of two bytes is bounded and unambiguous, so a failed attempt is short.
const spacedHex = /(?:(?:0x)?[\da-f]{2}[\s:,;]{1,2}){11,}(?:0x)?[\da-f]{2}/gi

function placesOf(text: string, start: number, end: number, count: number): Int32Array {
  const places = new Int32Array(count)
  for (let i = start, n = 0; i < end; i++) if (!/\s/.test(text.charAt(i))) places[n++] = i
  return places
}

function placeAt(index: number, start: number, places: Int32Array | undefined): number {
  return places ? (places[Math.min(index, places.length - 1)] ?? start) : start + index
}

function written(
  bytes: Buffer,
  from: number,
  to: number,
  as: Decoded['as'],
  placeOf: (byte: number) => number,
): Decoded {
  const text = bytes.toString('utf8', from, to)
  const spans = [0, text.length]
  if (text.length === to - from) return { text, spans, as, placeOf: (index) => placeOf(from + index) }
  let places: Int32Array | undefined
  return { text, spans, as, placeOf: (index) => placeOf((places ??= bytesOf(text, from))[index] ?? to) }
}

/** Returns the first byte of each code unit of a text. */
function bytesOf(text: string, from: number): Int32Array {
  const places = new Int32Array(text.length)
  let byte = from
  for (let i = 0; i < text.length; i++) {
    places[i] = byte
    const unit = text.charCodeAt(i)
    // Bytes that are not text become U+FFFD, mostly one by one.
    byte += unit < 0x80 || unit === 0xfffd ? 1 : unit < 0x800 ? 2 : unit >= 0xd800 && unit < 0xe000 ? 2 : 3
  }
  return places
}
