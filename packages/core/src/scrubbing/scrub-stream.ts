import { heldFrom, secretSpans } from '../secrets/secret-finder.ts'
import type { SecretIndex } from '../secrets/secret-index.ts'

/** Scrubs a text that arrives in pieces: the possible beginning of a secret is held until the text goes past it. */
export interface ScrubStream {
  /** @returns the text that can be shown now; may be empty. */
  push(piece: string): string
  /** Returns the rest, because no piece follows. */
  end(): string
}

/**
 * @param scrub scrubs a whole text.
 * @param index the index of secrets; undefined while there are none.
 */
export function scrubStream(scrub: (text: string) => string, index: () => SecretIndex | undefined): ScrubStream {
  let held = ''
  return {
    push(piece) {
      const text = held + piece
      const secrets = index()
      const from = secrets ? cutIn(secrets, text) : text.length
      held = text.slice(from)
      return scrub(text.slice(0, from))
    },
    end() {
      const rest = scrub(held)
      held = ''
      return rest
    },
  }
}

/** Returns where a text may be cut so that no secret is split, including one that may begin at its end. */
export function cutIn(index: SecretIndex, text: string): number {
  const from = heldFrom(index, text)
  if (from === text.length) return from
  const across = secretSpans(index, text).find(({ start, end }) => start < from && end > from)
  return across ? across.start : from
}
