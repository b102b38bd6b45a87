import { heldFrom, secretSpans } from '../secrets/secret-finder.ts'
import type { SecretIndex } from '../secrets/secret-index.ts'

/** Scrubs a text that comes in pieces: what may be the beginning of a secret is held back until more is known. */
export interface ScrubStream {
  /** @returns what can be shown now; may be empty. */
  push(piece: string): string
  /** The rest: no piece follows. */
  end(): string
}

/**
 * @param scrub a whole text.
 * @param index what is looked for; undefined while there is nothing.
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

/** Where a text may be cut so that no secret is cut in two, neither one that it holds nor one that it may go on with. */
export function cutIn(index: SecretIndex, text: string): number {
  const from = heldFrom(index, text)
  if (from === text.length) return from
  const across = secretSpans(index, text).find(({ start, end }) => start < from && end > from)
  return across ? across.start : from
}
