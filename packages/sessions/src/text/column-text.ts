import { digest } from './name-key.ts'

/** Characters that an index takes, whatever they are. */
const longest = 800

/** Any string as text of an indexed column, which cannot hold NUL or halves of surrogate pairs, nor what is long. */
export function toColumn(text: string): string {
  // No JSON begins like this and goes on without a quote at its end.
  return isLong(text) ? `"#${digest(text)}` : whole(text)
}

/** Whether a string is too long for an index. One that an earlier version took in as it was stands there whole. */
export function isLong(text: string): boolean {
  return text.length > longest
}

/** All that may stand for a string in such a column. */
export function columnsOf(text: string): readonly string[] {
  return isLong(text) ? [toColumn(text), whole(text)] : [whole(text)]
}

function whole(text: string): string {
  return text.isWellFormed() && !text.includes('\0') && !text.startsWith('"') ? text : JSON.stringify(text)
}
