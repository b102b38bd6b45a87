/** Scrubs a text that comes in pieces: what may be the beginning of a secret is held back until more is known. */
export interface ScrubStream {
  /** @returns what can be shown now; may be empty. */
  push(piece: string): string
  /** The rest: no piece follows. */
  end(): string
}

/**
 * @param scrub a whole text.
 * @param writings what is looked for, in lower case.
 */
export function scrubStream(scrub: (text: string) => string, writings: () => readonly string[]): ScrubStream {
  let held = ''
  return {
    push(piece) {
      const text = held + piece
      const from = beginningIn(text, writings())
      if (from === text.length) {
        held = ''
        return scrub(text)
      }
      const before = scrub(text.slice(0, from))
      // Where two secrets overlap, the cut may go through one of them: then all of it waits.
      const whole = before + scrub(text.slice(from)) === scrub(text)
      held = whole ? text.slice(from) : text
      return whole ? before : ''
    },
    end() {
      const rest = scrub(held)
      held = ''
      return rest
    },
  }
}

/** Where the first writing begins that the text may go on with, so that no finding is cut in two. */
function beginningIn(text: string, writings: readonly string[]): number {
  const longest = writings[0]?.length ?? 0
  const lower = text.toLowerCase()
  // Other letters than these change their length: then the places do not fit, and all of it waits.
  if (lower.length !== text.length) return longest === 0 ? text.length : Math.max(0, text.length - longest * 2)
  for (let from = Math.max(0, lower.length - longest + 1); from < lower.length; from++) {
    const rest = lower.slice(from)
    if (writings.some((writing) => writing.length > rest.length && writing.startsWith(rest))) return from
  }
  return text.length
}
