import { digest } from './name-key.ts'

/** Characters that fit into an index key, in any encoding. */
const longest = 800

/** Returns any string as text of an indexed column, which cannot hold NUL, lone surrogates or long text. */
export function toColumn(text: string): string {
  // Never equal to a JSON string, which ends with a quote.
  return isLong(text) ? `"#${digest(text)}` : unhashed(text)
}

/** Whether a string is too long for an index. An earlier version stored some of them unhashed. */
export function isLong(text: string): boolean {
  return text.length > longest
}

/** Returns all forms of a string in such a column. */
export function columnsOf(text: string): readonly string[] {
  return isLong(text) ? [toColumn(text), unhashed(text)] : [unhashed(text)]
}

function unhashed(text: string): string {
  return text.isWellFormed() && !text.includes('\0') && !text.startsWith('"') ? text : JSON.stringify(text)
}
