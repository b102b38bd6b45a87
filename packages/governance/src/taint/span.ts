import type { Canonical, Places } from '../text/canonical-text.ts'
import { isDigitCode, rotated } from '../text/canonical-text.ts'
import type { Reading } from './matching-span.ts'
import type { Match } from './tracked-text.ts'

/** The longest tracked span around a match in a canonical text. */
export interface Span {
  start: number
  end: number
  readonly reading: Reading
  readonly origin: number
  sameCase: boolean
  /** Number of origins whose texts contain this span. */
  seen: number
}

/** Characters that two pieces share to be one span. */
const overlap = 12

const readings: readonly Reading[] = ['forward', 'reversed', 'rot13', 'reversed-rot13']

/** Joins the pieces that a search finds to spans, by origin and reading. */
export function createSpans(): { add(match: Match): void; all(): readonly Span[] } {
  const done: Span[] = []
  const open = new Map<number, Span>()
  return {
    add({ start, end, reading, origin, sameCase, seen }) {
      const key = origin * 4 + readings.indexOf(reading)
      const last = open.get(key)
      if (last && Math.min(last.end, end) - Math.max(last.start, start) >= overlap) {
        last.start = Math.min(last.start, start)
        last.end = Math.max(last.end, end)
        last.sameCase &&= sameCase
        last.seen = Math.max(last.seen, seen)
        return
      }
      const stretch = { start, end, reading, origin, sameCase, seen }
      done.push(stretch)
      open.set(key, stretch)
    },
    all: () => done,
  }
}

/** Returns the bytes of a span in the form of its source. */
export function sourceBytes(
  canonical: Canonical,
  { start, end, reading }: Pick<Span, 'start' | 'end' | 'reading'>,
): Uint8Array {
  const bytes = canonical.bytes.slice(start, end)
  if (reading === 'reversed' || reading === 'reversed-rot13') bytes.reverse()
  return reading === 'rot13' || reading === 'reversed-rot13' ? bytes.map((code) => rotated[code] ?? 0) : bytes
}

/** Returns a span without partial words at its ends. */
export function wholeWords(
  text: string,
  from: Places,
  { start, end, reading }: Span,
): Pick<Span, 'start' | 'end' | 'reading'> {
  /** Whether a byte and the previous one belong to the same word. */
  const joined = (at: number): boolean => {
    const [a, b] = [from(at - 1), from(at)]
    return at > 0 && b === a + 1 && isWordUnit(text.charCodeAt(a)) && isWordUnit(text.charCodeAt(b))
  }
  let [first, last] = [start, end]
  if (joined(first)) while (first < last && joined(++first));
  if (joined(last)) while (last > first && joined(--last));
  return { start: first, end: last, reading }
}

function isWordUnit(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90)
}

/** Number of sources that makes a span a common phrase, which is not evidence. */
const common = 8
/** Neighbouring spans compared to find out whether one is common. */
const mostCompared = 64

/**
 * Returns whether a span is a phrase that many sources use, such as a disclaimer or a greeting. A possible address, number
 * or link never counts as common: otherwise an attacker would only have to repeat it.
 *
 * @param at the index of the span in `all`.
 */
export function isCommonProse(
  text: string,
  from: Places,
  canonical: Canonical,
  stretch: Span,
  all: readonly Span[],
  at: number,
): boolean {
  // The same words at other places of the index are found as separate spans.
  const sources = new Map<number, number>()
  for (const other of all.slice(Math.max(0, at - mostCompared), at + mostCompared)) {
    const shared = Math.min(stretch.end, other.end) - Math.max(stretch.start, other.start)
    if (shared < (stretch.end - stretch.start) * 0.9) continue
    sources.set(other.origin, Math.max(sources.get(other.origin) ?? 0, other.seen))
  }
  const count = [...sources.values()].reduce((sum, seen) => sum + seen, 0)
  if (count < common) return false
  for (let i = stretch.start; i < stretch.end; i++) if (isDigitCode(canonical.bytes[i] ?? 0)) return false
  const written = text.slice(from(stretch.start), from(stretch.end - 1) + 1)
  return !/[@/\\]|\w\.\w|www\./.test(written)
}
