import { headLength, tailStart } from './measure.ts'

/** Tokens reserved for the note on omitted text. */
const noteTokens = 60

/** Returns the tokens of a limit that remain for the text. */
export function roomIn(limit: number): number {
  return Math.max(limit - noteTokens, Math.ceil(limit / 2))
}

/**
 * Returns the start of a text that is too long, and a line that states so.
 *
 * @param limit about how many tokens it may be.
 * @param why goes behind what was cut.
 */
export function cutTail(text: string, limit: number, why = ''): string {
  const end = headLength(text, roomIn(limit))
  return `${text.slice(0, end)}\n[Cut here: ${end} of ${text.length} characters are shown.${why}]`
}

/** Returns the start and the end of a text that is too long, with a line between them that states what is missing. */
export function cutMiddle(text: string, limit: number): string {
  const room = roomIn(limit)
  const end = headLength(text, Math.ceil(room / 2))
  const start = Math.max(end, tailStart(text, Math.floor(room / 2)))
  // The estimates of the two halves of a short text may be below that of the whole.
  if (start === end) return text
  const missing = `[${start - end} of ${text.length} characters are left out here.]`
  return `${text.slice(0, end)}\n${missing}\n${text.slice(start)}`
}
