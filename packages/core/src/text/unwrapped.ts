import { lazily } from '../values/lazily.ts'
import type { DecodedText } from './decoded-text.ts'

const lineEnds = /[\r\n][\r\n\t ]*/g

/**
 * Returns a text with its line ends left out, and the indentation after them: as a long value was before it was wrapped.
 * Undefined for a text of one line.
 *
 * @param above the text that this one was decoded from; positions then refer to the original of that one.
 */
export function unwrapped(text: string, above?: DecodedText): DecodedText | undefined {
  if (!text.includes('\n') && !text.includes('\r')) return undefined
  // Few texts have a secret, and only those need the places.
  const lines = lazily(() => linesOf(text))
  const placeHere = (index: number): number => {
    const { start, place } = lineAt(lines(), index)
    return place + index - start
  }
  return {
    text: text.replaceAll(lineEnds, ''),
    placeOf(index) {
      const place = placeHere(index)
      return above ? above.placeOf(place) : place
    },
    endOf(index) {
      const end = index === 0 ? 0 : placeHere(index - 1) + 1
      return above ? above.endOf(end) : end
    },
  }
}

/** The beginning of a line: in the text without line ends, and in the text with them. */
interface Line {
  readonly start: number
  readonly place: number
}

function linesOf(text: string): readonly Line[] {
  const lines = [{ start: 0, place: 0 }]
  let left = 0
  for (const { 0: end, index } of text.matchAll(lineEnds)) {
    lines.push({ start: index - left, place: index + end.length })
    left += end.length
  }
  return lines
}

/** Returns the last line that begins at a position or before it. */
function lineAt(lines: readonly Line[], index: number): Line {
  let [low, high] = [0, lines.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((lines[middle]?.start ?? 0) <= index) low = middle
    else high = middle
  }
  return lines[low] ?? { start: 0, place: 0 }
}
