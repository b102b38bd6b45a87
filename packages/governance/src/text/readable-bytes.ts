/** A byte that is not text costs as much as this many that are. */
const penalty = 3
/** A stretch needs this many bytes of text, minus the cost of the others. Random bytes have one in ten thousand. */
const enough = 12
/** A long text is not cut short by one stretch of something else behind it. */
const mostScore = 96

/** Classes of UTF-8 bytes: a whole character, invalid, a continuation, and the first of two, three and four. */
const [whole, other, further, firstOfTwo, firstOfThree, firstOfFour] = [0, 1, 2, 3, 4, 5] as const
const kinds = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0 || byte === 9 || byte === 10 || byte === 13 || (byte >= 32 && byte < 127)) return whole
  if (byte >= 0x80 && byte < 0xc0) return further
  if (byte >= 0xc2 && byte < 0xe0) return firstOfTwo
  if (byte >= 0xe0 && byte < 0xf0) return firstOfThree
  return byte >= 0xf0 && byte < 0xf5 ? firstOfFour : other
})

/** The state of a character: the bytes so far and its length. */
const parts = [
  { seen: 0, of: 0 },
  { seen: 1, of: 2 },
  { seen: 1, of: 3 },
  { seen: 2, of: 3 },
  { seen: 1, of: 4 },
  { seen: 2, of: 4 },
  { seen: 3, of: 4 },
] as const
const [twoBegun, threeBegun, fourBegun] = [1, 2, 4] as const

/**
 * The next state by byte: a score and a partial character. A table, since branches on random bytes are unpredictable
 * and slow.
 */
const next: Uint16Array = new Uint16Array((mostScore + 1) * 64)
for (let score = 0; score <= mostScore; score++) {
  for (const part of parts.keys()) {
    for (let kind = 0; kind < 6; kind++) next[stateOf(score, part) | kind] = nextState(score, part, kind)
  }
}
/** The lowest state that is a stretch for sure. */
const sure = stateOf(enough, 0)

function stateOf(score: number, part: number): number {
  return (score << 6) | (part << 3)
}

function nextState(score: number, part: number, kind: number): number {
  const { seen, of } = parts[part] ?? parts[0]
  if (of === 0) {
    if (kind === whole) return stateOf(Math.min(score + 1, mostScore), 0)
    if (kind === firstOfTwo) return stateOf(score, twoBegun)
    if (kind === firstOfThree) return stateOf(score, threeBegun)
    if (kind === firstOfFour) return stateOf(score, fourBegun)
    return stateOf(Math.max(0, score - penalty), 0)
  }
  if (kind !== further) return nextState(Math.max(0, score - penalty * seen), 0, kind)
  return seen + 1 === of ? stateOf(Math.min(score + of, mostScore), 0) : stateOf(score, part + 1)
}

/** Finds stretches of bytes that are mostly text: up to a quarter of other bytes hides none. */
export function textIn(bytes: Uint8Array, shortest: number, found: (from: number, to: number) => void): void {
  const { length } = bytes
  for (let i = 0; i < length;) {
    let state = 0
    let from = i
    while (i < length && state < sure) {
      state = next[state | (kinds[bytes[i] ?? 0] ?? 0)] ?? 0
      i++
      // The place behind the last one without a score, computed without a branch: -1 for the first state, else 0.
      const none = (state - 1) >> 31
      from = (i & none) | (from & ~none)
    }
    if (state < sure) return
    while (i < length && state !== 0) state = next[state | (kinds[bytes[i++] ?? 0] ?? 0)] ?? 0
    let to = i
    while (to > from && kinds[bytes[to - 1] ?? 0] !== whole && kinds[bytes[to - 1] ?? 0] !== further) to--
    if (to - from >= shortest) found(from, to)
  }
}
