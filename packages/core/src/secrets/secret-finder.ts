import { unescaped, unfinishedFrom } from '../text/unescaped.ts'
import type { Unescaped } from '../text/unescaped.ts'
import { mostEscaped } from './secret-encodings.ts'
import type { SecretIndex, SecretSpan } from './secret-index.ts'

/**
 * Returns where a text contains secrets, as it is and with its escapes decoded. In order, without overlaps: of two that
 * overlap, the longer one covers both spans.
 */
export function secretSpans(index: SecretIndex, text: string): readonly SecretSpan[] {
  const found = [...index.find(text)]
  let view = unescaped(text)
  for (let level = 0; view && level < mostEscaped; level++) {
    const { placeOf } = view
    for (const { start, end, name } of index.find(view.text))
      found.push({ start: placeOf(start), end: placeOf(end), name })
    view = unescaped(view.text, view)
  }
  return found.length > 1 ? merged(found) : found
}

function merged(found: SecretSpan[]): readonly SecretSpan[] {
  found.sort((a, b) => a.start - b.start || b.end - a.end)
  const spans: SecretSpan[] = []
  let longest = 0
  for (const span of found) {
    const last = spans.at(-1)
    if (!last || span.start >= last.end) {
      spans.push(span)
      longest = span.end - span.start
      continue
    }
    const { name } = span.end - span.start > longest ? span : last
    longest = Math.max(longest, span.end - span.start)
    spans[spans.length - 1] = { start: last.start, end: Math.max(last.end, span.end), name }
  }
  return spans
}

/** Returns where a secret may begin that continues after the text, in any writing; the length of the text if none may. */
export function heldFrom(index: SecretIndex, text: string): number {
  let from = index.begunFrom(text)
  let view: Unescaped | undefined = { text, placeOf: (place) => place }
  for (let level = 0; view && level < mostEscaped; level++) {
    const { text: here, placeOf }: Unescaped = view
    const cut = unfinishedFrom(here)
    if (cut < here.length) {
      from = Math.min(from, placeOf(cut), placeOf(index.begunFrom(here.slice(0, cut))))
      const before = unescaped(here.slice(0, cut), view)
      if (before) from = Math.min(from, before.placeOf(index.begunFrom(before.text)))
    }
    view = unescaped(here, view)
    if (view) from = Math.min(from, view.placeOf(index.begunFrom(view.text)))
  }
  // Text with more levels of escapes than this is not decoded.
  return Math.max(from, text.length - (index.longest + 1) * mostWidth)
}

/** The most characters that one character of a secret is written with. */
const mostWidth = 24
