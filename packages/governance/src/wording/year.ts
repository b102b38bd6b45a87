/** Characters of the longest text that is read for years. */
const longest = 100_000

/**
 * Returns the years that a text names, from 1900 to 2199: with four digits, at the start of a compact date (`20310401`), or
 * in a number of seconds or milliseconds since 1970 that is all of the text.
 */
export function yearsIn(text: string): readonly number[] {
  const plain = text.trim()
  if (/^(?:\d{10}|\d{13})$/.test(plain)) return [new Date(Number(plain.padEnd(13, '0'))).getUTCFullYear()]
  const found = plain
    .slice(0, longest)
    .match(/(?<!\p{N})(?:19|20|21)\d\d(?=(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\D|$)|\P{N}|$)/gu)
  return [...new Set(found)].map(Number)
}
