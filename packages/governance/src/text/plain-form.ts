import { compatible } from './compatible-form.ts'
import type { Decoded } from './decoded.ts'
import { decodeEscapes } from './escapes.ts'

const hidden = /\p{Default_Ignorable_Code_Point}/gu
/** Full stops of other scripts also separate the parts of a host. */
const stops = /[\u3002\uFF61]/g

/** Returns a text as a reader sees it: plain letters instead of wide ones, without invisible characters. */
export function plainForm(text: string): string {
  return compatible(text.replaceAll(hidden, '').replaceAll(stops, '.'))
}

/** Returns the decoded text around the escapes of a text; undefined for a text without escapes. */
export function withoutEscapes(text: string): Decoded | undefined {
  const at: number[] = []
  for (const { index } of text.matchAll(/[%\\&=]/g)) at.push(index)
  return at.length > 0 ? decodeEscapes(text, at) : undefined
}

/** Invisible characters and letters of other widths. Readers ignore them, but they prevent decoding. */
const veil = /[\uFF01-\uFF5E\u00AD\u180E\u200B-\u200F\u2060-\u2064\uFEFF]|[\uFE00-\uFE0F]/

/**
 * Returns a text without invisible characters and wide letters, for encodings below them. Plain letters are found in
 * any case.
 */
export function unveiled(text: string): Pick<Decoded, 'text' | 'placeOf'> | undefined {
  if (!veil.test(text)) return undefined
  const units = new Uint16Array(text.length)
  const from = new Int32Array(text.length)
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    const isWide = unit >= 0xff01 && unit <= 0xff5e
    if (!isWide && veil.test(text.charAt(i))) continue
    units[length] = isWide ? unit - 0xfee0 : unit
    from[length++] = i
  }
  const bare = Buffer.from(units.buffer, 0, length * 2).toString('utf16le')
  return { text: bare, placeOf: (index) => (index < length ? (from[index] ?? 0) : (from[length - 1] ?? 0) + 1) }
}
