import { headLength, tailStart } from './measure.ts'

/** Tokens set aside for saying what was left out. */
const noteTokens = 60

/** The tokens of a limit that are left for the text itself. */
export function roomIn(limit: number): number {
  return Math.max(limit - noteTokens, Math.ceil(limit / 2))
}

/**
 * The beginning of a text that is too long, and a line that says so.
 *
 * @param limit about how many tokens it may be.
 * @param why goes behind what was cut.
 */
export function cutTail(text: string, limit: number, why = ''): string {
  const end = headLength(text, roomIn(limit))
  return `${text.slice(0, end)}\n[Cut here: ${end} of ${text.length} characters are shown.${why}]`
}

/** The beginning and the end of a text that is too long, and between them a line that says what is missing. */
export function cutMiddle(text: string, limit: number): string {
  const room = roomIn(limit)
  const end = headLength(text, Math.ceil(room / 2))
  const start = Math.max(end, tailStart(text, Math.floor(room / 2)))
  // The halves of a short text may be estimated at less than the whole.
  if (start === end) return text
  const missing = `[${start - end} of ${text.length} characters are left out here.]`
  return `${text.slice(0, end)}\n${missing}\n${text.slice(start)}`
}
