import { folded, rotated } from '../text/canonical-text.ts'

/** The relation of the characters of an argument to those of the text. */
export type Reading = 'forward' | 'reversed' | 'rot13' | 'reversed-rot13'

/** A span of one canonical text that another text contains too. */
export interface Agreement {
  readonly start: number
  readonly end: number
  readonly reading: Reading
  /** Whether every letter has the same case. */
  readonly sameCase: boolean
}

/** Characters that an agreement is extended beyond its window: the next window finds the rest. */
const reach = 16

/**
 * Returns the agreement of `count` characters of `bytes` at `at` with those of `kept` at `place`, extended to both
 * sides; undefined for fewer than `least` characters.
 */
export function agreementAt(
  bytes: Uint8Array,
  size: number,
  at: number,
  kept: Uint8Array,
  place: number,
  count: number,
  least: number,
): Agreement | undefined {
  const reading = readingOf(bytes, at, kept, place, count)
  if (!reading) return undefined
  const step = reading === 'forward' || reading === 'rot13' ? 1 : -1
  const codes = reading === 'forward' || reading === 'reversed' ? folded : rotated
  const origin = step === 1 ? place : place + count - 1
  let [start, end] = [at, at + count]
  const further = Math.max(reach, least - count)
  const [lowest, highest] = [Math.max(0, at - further), Math.min(size, at + count + further)]
  while (start > lowest && agrees(codes, bytes[start - 1] ?? 0, kept[origin + (start - 1 - at) * step] ?? 0)) start--
  while (end < highest && agrees(codes, bytes[end] ?? 0, kept[origin + (end - at) * step] ?? 0)) end++
  if (end - start < least) return undefined
  let sameCase = step === 1 && codes === folded
  for (let i = start; i < end && sameCase; i++) sameCase = bytes[i] === kept[origin + i - at]
  return { start, end, reading, sameCase }
}

function agrees(codes: Uint8Array, seen: number, there: number): boolean {
  return seen !== 0 && codes[seen] === folded[there]
}

function readingOf(bytes: Uint8Array, at: number, kept: Uint8Array, place: number, count: number): Reading | undefined {
  let same = 0
  while (same < count && agrees(folded, bytes[at + same] ?? 0, kept[place + same] ?? 0)) same++
  if (same === count) return 'forward'
  const last = place + count - 1
  let [reversed, rot, reversedRot] = [true, true, true]
  for (let i = 0; i < count; i++) {
    const seen = bytes[at + i] ?? 0
    if (seen === 0) return undefined
    const [plain, turned] = [folded[seen], rotated[seen]]
    const [there, back] = [folded[kept[place + i] ?? 0], folded[kept[last - i] ?? 0]]
    reversed &&= plain === back
    rot &&= turned === there
    reversedRot &&= turned === back
    if (!reversed && !rot && !reversedRot) return undefined
  }
  return reversed ? 'reversed' : rot ? 'rot13' : 'reversed-rot13'
}
