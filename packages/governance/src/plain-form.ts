import type { Decoded } from './decoded.ts'
import { decodeEscapes } from './escapes.ts'

const hidden = /\p{Default_Ignorable_Code_Point}/gu
/** Full stops of other scripts stand between the parts of a host, too. */
const stops = /[\u3002\uFF61]/g

/** A text as it is read: wide letters are plain ones, and what is not seen is not there. */
export function plainForm(text: string): string {
  return text.replaceAll(hidden, '').replaceAll(stops, '.').normalize('NFKC')
}

/** What stands around the escapes of a text, as who undoes them reads it; undefined for a text without. */
export function withoutEscapes(text: string): Decoded | undefined {
  const at: number[] = []
  for (const { index } of text.matchAll(/[%\\&=]/g)) at.push(index)
  return at.length > 0 ? decodeEscapes(text, at) : undefined
}
