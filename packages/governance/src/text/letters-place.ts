import type { Notes } from './canonical-text.ts'
import { appendCanonical, canonicalBytes, emptyCanonical, folded, placesIn } from './canonical-text.ts'

/** Returns where a text has these letters and digits, in UTF-16 code units, whatever their case and what is between them. */
export function placeOfLetters(text: string, letters: Uint8Array): readonly [start: number, end: number] | undefined {
  if (letters.length === 0) return undefined
  const canonical = emptyCanonical()
  const notes: Notes = { escapes: [], slices: [], isAscii: true }
  appendCanonical(canonical, text, notes)
  const found = foldedBytes(canonical.bytes.subarray(0, canonical.length)).indexOf(foldedBytes(letters))
  if (found < 0) return undefined
  const from = placesIn(text, notes.slices, canonical)
  return [from(found), from(found + letters.length - 1) + 1]
}

/** Returns where a text has a value: as written, else its letters and digits. */
export function placeOfValue(text: string, value: string): readonly [start: number, end: number] | undefined {
  const at = value === '' ? -1 : text.indexOf(value)
  return at < 0 ? placeOfLetters(text, canonicalBytes(value)) : [at, at + value.length]
}

function foldedBytes(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.map((code) => folded[code] ?? 0))
}
