/** Any string as text of a database, which cannot hold NUL or halves of surrogate pairs. */
export function toColumn(text: string): string {
  return text.isWellFormed() && !text.includes('\0') && !text.startsWith('"') ? text : JSON.stringify(text)
}
