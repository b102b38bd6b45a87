import type { JsonPointer, Label } from '@provost/core'

import type { ArgumentText } from './argument-text.ts'

/**
 * How a span was written. `normalised`: case, width, accents, lookalikes, invisible characters or punctuation differ.
 * `split`: it spans several values. `untracked`: the index was full, or the argument had too many layers of encoding, so
 * the argument counts as a hit.
 */
export type TaintEncoding =
  | 'verbatim'
  | 'normalised'
  | 'base64'
  | 'base64url'
  | 'hex'
  | 'url'
  | 'html'
  | 'json'
  | 'reversed'
  | 'rot13'
  | 'split'
  | 'untracked'

/** A span of tracked text in the arguments of a call. */
export interface TaintHit {
  /** The source from `add`. */
  readonly source: string
  readonly label: Label
  /** The pointer of the value with the hit; `/` if the arguments are one text. */
  readonly path: JsonPointer
  /** The position in that value as written, in UTF-16 code units. */
  readonly span: readonly [start: number, end: number]
  readonly view: TaintEncoding
  /** The number of equal letters and digits, whatever the encoding. */
  readonly length: number
}

/** A span in the coordinates of the joined arguments. */
export interface Found {
  readonly start: number
  readonly end: number
  readonly length: number
  readonly view: TaintEncoding
  readonly origin: { readonly source: string; readonly label: Label }
  /** The letters and digits as the source has them, in canonical form. */
  readonly letters: Uint8Array
}

const letters = new WeakMap<TaintHit, Uint8Array>()

/** Returns the letters and digits of a hit as its source has them, in canonical form; undefined for `untracked`. */
export function lettersOf(hit: TaintHit): Uint8Array | undefined {
  return letters.get(hit)
}

const mostHits = 1_000

/** Returns all hits. If there are too many, it returns the longest of each source, then the longest of the rest. */
export function strongest(hits: TaintHit[]): readonly TaintHit[] {
  if (hits.length <= mostHits) return hits
  const longest = new Map<string, TaintHit>()
  for (const hit of hits) if (hit.length > (longest.get(hit.source)?.length ?? 0)) longest.set(hit.source, hit)
  const first = new Set(longest.values())
  const chosen = [...first, ...hits.toSorted((a, b) => b.length - a.length).filter((hit) => !first.has(hit))]
  const kept = new Set(chosen.slice(0, mostHits))
  return hits.filter((hit) => kept.has(hit))
}

/** Returns the spans by value. A span over several values counts for each value with enough of it, else as split. */
export function hitsOf(found: readonly Found[], { values }: ArgumentText, minSpan: number): TaintHit[] {
  const hits: TaintHit[] = []
  const push = (hit: TaintHit, written: Uint8Array): void => {
    letters.set(hit, written)
    hits.push(hit)
  }
  for (const { start, end, length, view, origin, letters: written } of found.toSorted((a, b) => a.start - b.start)) {
    const first = valueAt(values, start)
    const value = values[first]
    if (!value) continue
    if (end <= value.end) {
      const span = [start - value.start, end - value.start] as const
      push({ ...origin, path: value.path, span, view, length }, written)
      continue
    }
    const enough = (minSpan / length) * (end - start)
    let [largest, most, whole] = [value, 0, false]
    for (let n = first, part = values[n]; part && part.start < end; part = values[++n]) {
      const [from, to] = [Math.max(start, part.start), Math.min(end, part.end)]
      if (to - from > most) [largest, most] = [part, to - from]
      if (to - from < enough) continue
      whole = true
      const share = Math.round((length * (to - from)) / (end - start))
      push({ ...origin, path: part.path, span: [from - part.start, to - part.start], view, length: share }, written)
    }
    if (whole) continue
    const span = [Math.max(start, largest.start) - largest.start, Math.min(end, largest.end) - largest.start] as const
    push({ ...origin, path: largest.path, span, view: 'split', length }, written)
  }
  return hits
}

/** Returns the index of the value at a position of the joined text. */
function valueAt(values: ArgumentText['values'], position: number): number {
  let [low, high] = [0, values.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((values[middle]?.start ?? 0) <= position) low = middle
    else high = middle - 1
  }
  return low
}
