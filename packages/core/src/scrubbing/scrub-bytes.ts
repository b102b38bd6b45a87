import { textOf } from '../text/unescaped.ts'

/** Returns the bytes unchanged if the change leaves their text unchanged. */
export function scrubBytes(scrub: (text: string) => string, bytes: Uint8Array): Uint8Array {
  const wide = wideText(bytes)
  if (wide) {
    const scrubbed = scrub(wide.text)
    if (scrubbed !== wide.text) return wideBytes(scrubbed, wide.bigEndian)
  }
  const text = utf8Text(bytes)
  if (text !== undefined) {
    const scrubbed = scrub(text)
    return scrubbed === text ? bytes : new TextEncoder().encode(scrubbed)
  }
  // Text of another encoding, or binary data with some text in it: each byte counts as a character.
  const binary = textOf(bytes)
  const scrubbed = scrub(binary)
  return scrubbed === binary ? bytes : bytesOfBinary(scrubbed)
}

/** Like {@link scrubBytes}, for bytes in base64. Undefined for text that is not base64. */
export function scrubBase64(scrub: (text: string) => string, encoded: string): string | undefined {
  const binary = binaryIn(encoded)
  if (binary === undefined) return undefined
  // oxlint-disable-next-line no-control-regex -- only ASCII, and nothing that wide characters have
  if (/^[\u0001-\u007f]*$/.test(binary)) {
    const scrubbed = scrub(binary)
    return scrubbed === binary ? encoded : btoa(textOf(new TextEncoder().encode(scrubbed)))
  }
  const bytes = Uint8Array.from(binary, (unit) => unit.charCodeAt(0))
  const scrubbed = scrubBytes(scrub, bytes)
  return scrubbed === bytes ? encoded : btoa(textOf(scrubbed))
}

function binaryIn(encoded: string): string | undefined {
  try {
    return atob(
      encoded.includes('-') || encoded.includes('_') ? encoded.replaceAll('-', '+').replaceAll('_', '/') : encoded,
    )
  } catch {
    return undefined
  }
}

function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Bytes at the beginning that tell whether a text is UTF-16. */
const looked = 1024

/** UTF-16 begins with a mark, or has a zero in every other byte of most characters. */
function wideText(bytes: Uint8Array): { readonly text: string; readonly bigEndian: boolean } | undefined {
  const [first, second] = bytes
  const marked = first === 0xff && second === 0xfe ? 1 : first === 0xfe && second === 0xff ? 0 : undefined
  const zeros = [0, 0]
  const end = Math.min(bytes.length, looked) & ~1
  for (let at = 0; at < end; at++) if (bytes[at] === 0) zeros[at & 1] = (zeros[at & 1] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  const zero = marked ?? (odd * 4 > end && odd > even ? 1 : even * 4 > end && even > odd ? 0 : undefined)
  if (zero === undefined) return undefined
  const bigEndian = zero === 0
  return { text: new TextDecoder(bigEndian ? 'utf-16be' : 'utf-16le', { ignoreBOM: true }).decode(bytes), bigEndian }
}

function wideBytes(text: string, bigEndian: boolean): Uint8Array {
  const bytes = new Uint8Array(text.length * 2)
  const view = new DataView(bytes.buffer)
  for (let at = 0; at < text.length; at++) view.setUint16(at * 2, text.charCodeAt(at), !bigEndian)
  return bytes
}

/** Returns the bytes of a text: the token of a secret in UTF-8, every other character as one byte. */
function bytesOfBinary(binary: string): Uint8Array {
  const encoder = new TextEncoder()
  const pieces = binary
    .split(/(⟦[^⟧]*⟧)/)
    .map((piece) =>
      piece.startsWith('⟦') ? encoder.encode(piece) : Uint8Array.from(piece, (unit) => unit.charCodeAt(0)),
    )
  const bytes = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}
