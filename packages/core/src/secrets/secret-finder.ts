import type { DecodedText } from '../text/decoded-text.ts'
import { unescaped, unfinishedFrom } from '../text/unescaped.ts'
import { unwrapped } from '../text/unwrapped.ts'
import { mostEscaped } from './secret-encodings.ts'
import type { SecretIndex, SecretSpan } from './secret-index.ts'

/**
 * Returns where a text contains secrets, as it is and with its escapes decoded, also where they are wrapped onto several
 * lines. In order, without overlaps: of two that overlap, the longer one covers both spans.
 */
export function secretSpans(index: SecretIndex, text: string): readonly SecretSpan[] {
  const found = [...index.find(text)]
  const look = (view: DecodedText | undefined): void => {
    if (!view) return
    for (const { start, end, name } of index.find(view.text))
      found.push({ start: view.placeOf(start), end: view.endOf(end), name })
  }
  look(unwrapped(text))
  let view = unescaped(text)
  for (let level = 0; view && level < mostEscaped; level++) {
    look(view)
    look(unwrapped(view.text, view))
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
  let from = text.length
  const look = (view: DecodedText): void => {
    from = Math.min(from, view.placeOf(index.begunFrom(view.text)))
    const lines = unwrapped(view.text, view)
    if (lines) from = Math.min(from, lines.placeOf(index.begunFrom(lines.text)))
  }
  let view: DecodedText | undefined = { text, placeOf: (place) => place, endOf: (place) => place }
  for (let level = 0; view && level < mostEscaped; level++) {
    look(view)
    const { text: here, placeOf }: DecodedText = view
    const cut = unfinishedFrom(here)
    if (cut < here.length) {
      from = Math.min(from, placeOf(cut))
      const kept = here.slice(0, cut)
      look({ ...view, text: kept })
      const before = unescaped(kept, view)
      if (before) look(before)
    }
    view = unescaped(here, view)
  }
  if (view) look(view)
  // Text with more levels of escapes than this is not decoded.
  return Math.max(from, text.length - (index.longest + 1) * mostWidth)
}

/** The most characters that one character of a secret is written with. */
const mostWidth = 24
