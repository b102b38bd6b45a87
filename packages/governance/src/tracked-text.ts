import { appendCanonical, emptyCanonical, folded, rotated, writeAscii } from './canonical.ts'
import { exactHash, windowHash, windowHashes } from './window-hash.ts'
import { createWindowTable } from './window-table.ts'

/** How the argument says what the text says. */
export type Reading = 'forward' | 'reversed' | 'rot13' | 'reversed-rot13'

/** A stretch of the looked-up text that is also in a tracked one. */
export interface Match {
  readonly start: number
  readonly end: number
  readonly reading: Reading
  /** Every letter in the same case. */
  readonly sameCase: boolean
  /** Whose text it is: what was given to `add`. */
  readonly origin: number
  /** Distinct origins that this place of the text was seen in. */
  readonly seen: number
}

/** Texts in canonical form, with an index of windows over them. */
export interface TrackedText {
  /**
   * Tracks a text.
   *
   * @param origin who it is from; numbers rise as they are first used.
   * @param group copies are told apart by it: a copy in one group never stands for one in another. Below 16.
   * @returns false when there is no room for it.
   */
  add(text: string, origin: number, group: number): boolean
  /** Finds every stretch of at least `minSpan` characters. Overlapping pieces of one stretch come one by one. */
  find(bytes: Uint8Array, length: number, found: (match: Match) => void): void
  /** Whether the bytes stand somewhere as a whole. May say no where looking on would cost too much. */
  contains(bytes: Uint8Array): boolean
  /** Characters tracked. */
  readonly length: number
  /** Bytes that the index occupies, and those of the kept text. */
  readonly memory: { readonly index: number; readonly text: number }
}

/** Tracked texts are indexed by sample numbers of 21 bits. */
const sampleBits = 21
const positionBits = 24
/** Copies of a window in one group before the places are told apart by longer windows. */
const mostCopies = 8
const mostGroups = 16
/** How far a match is followed beyond its window: the next window has the rest. */
const reach = 16
/** Windows looked up at a time. */
const block = 4_096
/** Places counted for what is common. */
const mostCounted = 65_536
/** Code units made canonical at a time: what they need in between stays small. */
const slice = 65_536

/** @param minSpan the shortest stretch that is found, in characters. From 12. */
export function createTrackedText(minSpan: number, capacity: number = Number.POSITIVE_INFINITY): TrackedText {
  const stride = Math.min(8, Math.max(4, Math.floor((minSpan - 4) / 2)))
  const window = minSpan - stride + 1
  const most = Math.min(capacity, 2 ** sampleBits * stride - 2 * stride, 2 ** positionBits - 2 * stride)

  let kept = new Uint8Array(1024)
  // Sample 0 does not exist: the first text begins behind it.
  let length = stride
  let starts = new Uint32Array(16)
  let origins = new Uint32Array(16)
  let groups = new Uint8Array(16)
  let texts = 0
  const samples = createWindowTable(
    sampleBits,
    (sample) => windowHash(kept, sample * stride, window),
    (sample) => kept[sample * stride] ?? 0,
  )
  const long = createWindowTable(
    positionBits,
    (at) => exactHash(kept, at, minSpan),
    (at) => kept[at] ?? 0,
  )
  const scratch = emptyCanonical()
  const hashes = new Uint32Array(block)
  const passed = new Uint32Array(block)
  const candidates = new Uint32Array(mostGroups * mostCopies + 64)
  const longCandidates = new Uint32Array(mostGroups * 4 + 64)
  /** Samples that were met again in texts of other origins. */
  const repeats = new Map<number, { count: number; last: number }>()

  /** The number of the text that a position is in. */
  function textAt(position: number): number {
    let [low, high] = [0, texts - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= position) low = middle
      else high = middle - 1
    }
    return low
  }

  function makeRoom(more: number): void {
    const needed = length + more + 2 * stride
    if (needed > kept.length) kept = new Uint8Array(kept.buffer.transfer(Math.ceil(needed * 1.125) + 1024))
  }

  function keep(text: string): boolean {
    for (let start = 0; start < text.length; start += slice) {
      // A character cut in two is seen in neither half: cut before it.
      let end = Math.min(start + slice, text.length)
      if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end++
      makeRoom(end - start)
      const plain = writeAscii(kept, length, text, start, end)
      if (plain !== undefined) {
        if (length + plain > most) return false
        length += plain
        continue
      }
      scratch.length = 0
      appendCanonical(scratch, text, undefined, start, end)
      if (end > start + slice) start++
      if (length + scratch.length > most) return false
      makeRoom(scratch.length)
      kept.set(scratch.bytes.subarray(0, scratch.length), length)
      length += scratch.length
    }
    return true
  }

  function startText(origin: number, group: number): void {
    if (texts === starts.length) {
      starts = enlarged(starts, new Uint32Array(texts * 2))
      origins = enlarged(origins, new Uint32Array(texts * 2))
      groups = enlarged(groups, new Uint8Array(texts * 2))
    }
    starts[texts] = length
    origins[texts] = origin
    groups[texts++] = group
  }

  /** Whether two samples stand in the same surroundings: every stretch over the one is also over the other. */
  function sameAround(a: number, b: number): boolean {
    for (let i = -1; i > -stride; i--) {
      const code = kept[a + i] ?? 0
      if (folded[code] !== folded[kept[b + i] ?? 0]) return false
      if (code === 0) break
    }
    for (let i = 0; i < window + stride - 1; i++) {
      const code = kept[a + i] ?? 0
      if (folded[code] !== folded[kept[b + i] ?? 0]) return false
      if (code === 0) break
    }
    return true
  }

  function sameAt(a: number, b: number, count: number): boolean {
    for (let i = 0; i < count; i++) if (folded[kept[a + i] ?? 0] !== folded[kept[b + i] ?? 0]) return false
    return true
  }

  /** Indexes the window at a position; whether anything was new in it. */
  function index(position: number, origin: number, group: number): boolean {
    const hash = windowHash(kept, position, window)
    let copies = 0
    if (samples.mayHave(hash)) {
      const count = samples.lookUp(hash, candidates)
      for (let n = 0; n < count; n++) {
        const sample = candidates[n] ?? 0
        const text = textAt(sample * stride)
        if (groups[text] !== group) continue
        if (sameAround(sample * stride, position)) {
          countRepeat(sample, origin, origins[text] ?? 0)
          return false
        }
        copies++
      }
    }
    if (copies < mostCopies) {
      samples.insert(hash, position / stride)
      return true
    }
    return indexLong(position, group)
  }

  /** Some windows are in so many places that following each would cost too much: those are told apart by whole spans. */
  function indexLong(position: number, group: number): boolean {
    let fresh = false
    for (let start = position - stride + 1; start <= position; start++) {
      if (!isWhole(start)) continue
      const hash = exactHash(kept, start, minSpan)
      const count = long.mayHave(hash) ? long.lookUp(hash, longCandidates) : 0
      let known = false
      for (let n = 0; n < count && !known; n++) {
        const at = longCandidates[n] ?? 0
        known = groups[textAt(at)] === group && sameAt(at, start, minSpan)
      }
      if (known) continue
      long.insert(hash, start)
      fresh = true
    }
    return fresh
  }

  function isWhole(start: number): boolean {
    if (start < stride || start + minSpan > length) return false
    for (let i = start; i < start + minSpan; i++) if (kept[i] === 0) return false
    return true
  }

  function countRepeat(sample: number, origin: number, first: number): void {
    const repeat = repeats.get(sample)
    if (repeat) {
      // Origins are numbered as they come: only one that is new adds to the count.
      if (origin > repeat.last) [repeat.count, repeat.last] = [repeat.count + 1, origin]
    } else if (origin > first && repeats.size < mostCounted) {
      repeats.set(sample, { count: 2, last: origin })
    }
  }

  /** Calls back with each window of the text that may be tracked, and with where it may be. */
  function eachCandidate(bytes: Uint8Array, size: number, visit: (at: number, count: number) => void): void {
    for (let start = 0; start + window <= size; start += block) {
      const count = windowHashes(bytes, start, size, window, hashes)
      const hits = samples.filter(hashes, count, passed)
      for (let n = 0; n < hits; n++) {
        const offset = passed[n] ?? 0
        const places = samples.lookUp(hashes[offset] ?? 0, candidates)
        if (places > 0) visit(start + offset, places)
      }
    }
  }

  /** How the window of the looked-up text at `at` reads the kept one at `place`, if it does. */
  function readingOf(bytes: Uint8Array, at: number, place: number, count: number): Reading | undefined {
    if (isForward(bytes, at, place, count)) return 'forward'
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

  function isForward(bytes: Uint8Array, at: number, place: number, count: number): boolean {
    for (let i = 0; i < count; i++) {
      const seen = bytes[at + i] ?? 0
      if (seen === 0 || folded[seen] !== folded[kept[place + i] ?? 0]) return false
    }
    return true
  }

  /** Follows a match to both sides of `count` characters that agree. */
  function follow(
    bytes: Uint8Array,
    size: number,
    at: number,
    place: number,
    count: number,
    sample: number,
    found: (match: Match) => void,
  ): void {
    const reading = readingOf(bytes, at, place, count)
    if (!reading) return
    const step = reading === 'forward' || reading === 'rot13' ? 1 : -1
    const codes = reading === 'forward' || reading === 'reversed' ? folded : rotated
    const origin = step === 1 ? place : place + count - 1
    let [start, end] = [at, at + count]
    const [lowest, highest] = [Math.max(0, at - reach), Math.min(size, at + count + reach)]
    const agrees = (i: number): boolean => {
      const seen = bytes[i] ?? 0
      return seen !== 0 && codes[seen] === folded[kept[origin + (i - at) * step] ?? 0]
    }
    while (start > lowest && agrees(start - 1)) start--
    while (end < highest && agrees(end)) end++
    if (end - start < minSpan) return
    let sameCase = step === 1 && codes === folded
    for (let i = start; i < end && sameCase; i++) sameCase = bytes[i] === kept[origin + i - at]
    const seen = repeats.get(sample)?.count ?? 1
    found({ start, end, reading, sameCase, origin: origins[textAt(place)] ?? 0, seen })
  }

  return {
    add(text, origin, group) {
      const begin = length
      const textsBefore = texts
      startText(origin, group)
      if (!keep(text)) {
        length = begin
        texts = textsBefore
        // The text before ends here.
        kept.fill(0, begin, begin + stride)
        return false
      }
      const end = length
      // What stood here may have been taken back.
      kept.fill(0, end, end + stride)
      let fresh = false
      for (let position = begin; position + window <= end; position += stride) {
        if (index(position, origin, group)) fresh = true
      }
      if (fresh) {
        // A text ends with a zero and the next begins on a sample: a text that comes again is found to be the same.
        length = Math.ceil((end + 1) / stride) * stride
      } else {
        length = begin
        texts = textsBefore
      }
      kept.fill(0, fresh ? end : begin, length + stride)
      return true
    },
    find(bytes, size, found) {
      eachCandidate(bytes, size, (at, count) => {
        for (let n = 0; n < count; n++) {
          const sample = candidates[n] ?? 0
          follow(bytes, size, at, sample * stride, window, sample, found)
        }
        if (count < mostCopies || long.size === 0) return
        for (let start = Math.max(0, at - stride + 1); start <= at && start + minSpan <= size; start++) {
          const hashed = exactHash(bytes, start, minSpan)
          const places = long.mayHave(hashed) ? long.lookUp(hashed, longCandidates) : 0
          for (let n = 0; n < places; n++) follow(bytes, size, start, longCandidates[n] ?? 0, minSpan, 0, found)
        }
      })
    },
    contains(bytes) {
      let tries = 0
      let whole = false
      const standsAt = (place: number): boolean => {
        if (place < stride || place + bytes.length > length) return false
        for (let i = 0; i < bytes.length; i++) {
          if (folded[bytes[i] ?? 0] !== folded[kept[place + i] ?? 0]) return false
        }
        return true
      }
      eachCandidate(bytes, bytes.length, (at, count) => {
        for (let n = 0; n < count && tries++ < mostTries && !whole; n++) {
          whole = standsAt((candidates[n] ?? 0) * stride - at)
        }
      })
      if (whole || long.size === 0 || bytes.length < minSpan) return whole
      const places = long.lookUp(exactHash(bytes, 0, minSpan), longCandidates)
      for (let n = 0; n < places && !whole; n++) whole = standsAt(longCandidates[n] ?? 0)
      return whole
    },
    get length() {
      return length - stride
    },
    get memory() {
      const lists = starts.byteLength + origins.byteLength + groups.byteLength
      return { index: samples.bytes + long.bytes + lists + repeats.size * 64, text: kept.byteLength }
    },
  }
}

/** Places compared for one question whether something stands somewhere as a whole. */
const mostTries = 64

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function enlarged<A extends Uint32Array | Uint8Array>(from: A, to: A): A {
  to.set(from)
  return to
}
