import { digest } from './name-key.ts'

/** Characters that an index takes, whatever they are. */
const longest = 800

/** Any string as text of an indexed column, which cannot hold NUL or halves of surrogate pairs, nor what is long. */
export function toColumn(text: string): string {
  // No JSON begins like this and goes on without a quote at its end.
  if (text.length > longest) return `"#${digest(text)}`
  return text.isWellFormed() && !text.includes('\0') && !text.startsWith('"') ? text : JSON.stringify(text)
}
