import type { Steps } from '@provost/core'
import { finish } from '@provost/core'

import { appendCanonical, sliceEnd } from '../text/canonical-text.ts'
import { longText } from '../text/long-text.ts'
import { createIndexedText } from './indexed-text.ts'
import { agreementAt } from './matching-span.ts'
import type { Agreement } from './matching-span.ts'
import {
  createShingleHash,
  exactHash,
  exactHashesAt,
  longestWindow,
  sampleHashes,
  windowHashes,
  windowHashesAt,
} from './shingle-hash.ts'
import { createShingleIndex } from './shingle-index.ts'

/** A span of the searched text that a tracked text contains too. */
export interface Match extends Agreement {
  /** The origin from `add`. */
  readonly origin: number
  /** Distinct origins that this place of the text was seen in. */
  readonly seen: number
}

/**
 * Texts in canonical form, with an index of windows over them. Long texts are added and searched in steps. Texts that are
 * added meanwhile are queued.
 */
export interface TrackedText {
  /**
   * Tracks a text.
   *
   * @param origin the number of its origin. Numbers rise in order of first use.
   * @param group below 16; a copy in one group never replaces one in another.
   * @returns false if the text exceeds the capacity.
   */
  add(text: string, origin: number, group: number): Steps<boolean>
  /** Like `add`, in one step. */
  addNow(text: string, origin: number, group: number): boolean
  /** Finds every span of at least `minSpan` characters. Overlapping pieces of one span are reported one by one. */
  find(bytes: Uint8Array, length: number, found: (match: Match) => void): Steps<void>
  /** Like `find`, in one step. */
  findNow(bytes: Uint8Array, length: number, found: (match: Match) => void): void
  /** Returns whether a text contains the bytes as a whole. Returns false if the search would cost too much. */
  contains(bytes: Uint8Array): boolean
  /** Characters tracked. */
  readonly length: number
  /** Bytes that the index occupies, and those of the kept text. */
  readonly memory: { readonly index: number; readonly text: number }
}

/** Tracked texts are indexed by sample numbers of 21 bits. */
const sampleBits = 21
const positionBits = 24
/** Copies of a window in one group before longer windows distinguish the places. */
const mostCopies = 8
const mostGroups = 16
/** Samples that may be one window, with some that only share bits of its hash. */
const mostCandidates = mostGroups * mostCopies + 64
/** Windows per lookup, and samples per addition. */
const block = 4_096
const piece = 2_048
/** Places counted for what is common. */
const mostCounted = 65_536
/** Windows whose places in the table are read in advance. */
const ahead = 64
/** @param minSpan the shortest stretch that is found, in characters. From 12. */
export function createTrackedText(minSpan: number, capacity: number = Number.POSITIVE_INFINITY): TrackedText {
  const stride = Math.min(8, Math.max(4, Math.floor((minSpan - 4) / 2)))
  const window = Math.min(minSpan - stride + 1, longestWindow)
  const windowHash = createShingleHash(window)
  const most = Math.min(capacity, 2 ** sampleBits * stride - 2 * stride, 2 ** positionBits - 2 * stride)

  const text = createIndexedText(stride, window, most)
  const { canonical } = text
  const samples = createShingleIndex(sampleBits, (values, count, into) => {
    windowHashesAt(windowHash, canonical.bytes, values, count, stride, into)
  })
  const long = createShingleIndex(positionBits, (values, count, into) => {
    exactHashesAt(canonical.bytes, values, count, minSpan, into)
  })
  const hashes = new Int32Array(block)
  const passed = new Uint32Array(block)
  const ends = new Uint32Array(block)
  const candidates = new Uint32Array(1_024)
  const longCandidates = new Uint32Array(mostGroups * 4 + 64)
  /** Samples that were met again in texts of other origins. */
  const repeats = new Map<number, { count: number; last: number }>()

  /** Indexes the window at a position; whether anything was new in it. */
  function index(position: number, hash: number, origin: number, group: number): boolean {
    let copies = 0
    if (samples.mayHave(hash)) {
      const count = samples.lookUp(hash, candidates, 0, mostCandidates)
      for (let n = 0; n < count; n++) {
        const sample = candidates[n] ?? 0
        if (text.groupAt(sample * stride) !== group) continue
        if (text.sameAround(sample * stride, position)) {
          countRepeat(sample, origin, text.originAt(sample * stride))
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

  /**
   * Indexes whole spans for a window with too many copies, since following each copy would cost too much.
   */
  function indexLong(position: number, group: number): boolean {
    let fresh = false
    for (let start = position - stride + 1; start <= position; start++) {
      if (!text.isWithinText(start, minSpan)) continue
      const hash = exactHash(canonical.bytes, start, minSpan)
      const count = long.mayHave(hash) ? long.lookUp(hash, longCandidates, 0, longCandidates.length) : 0
      let known = false
      for (let n = 0; n < count && !known; n++) {
        const at = longCandidates[n] ?? 0
        known = text.groupAt(at) === group && text.same(at, start, minSpan)
      }
      if (known) continue
      long.insert(hash, start)
      fresh = true
    }
    return fresh
  }

  function countRepeat(sample: number, origin: number, first: number): void {
    const repeat = repeats.get(sample)
    if (repeat) {
      // Origins are numbered in order of arrival, so only a new one adds to the count.
      if (origin > repeat.last) [repeat.count, repeat.last] = [repeat.count + 1, origin]
    } else if (origin > first && repeats.size < mostCounted) {
      repeats.set(sample, { count: 2, last: origin })
    }
  }

  /**
   * Calls back with each window of the text that may be tracked, in their order, and with where in `found` the samples
   * are that it may be.
   */
  function* eachCandidate(
    bytes: Uint8Array,
    size: number,
    visit: (at: number, first: number, end: number) => void,
  ): Steps<void> {
    for (let start = 0; start + window <= size; start += block) {
      if (start > 0) yield
      lookUpBlock(bytes, size, start, visit)
    }
  }

  function lookUpBlock(
    bytes: Uint8Array,
    size: number,
    start: number,
    visit: (at: number, first: number, end: number) => void,
  ): void {
    const count = windowHashes(windowHash, bytes, start, size, hashes)
    const hits = samples.filter(hashes, count, passed)
    samples.warm(hashes, passed, hits)
    for (let n = 0; n < hits;) {
      const first = n
      n = samples.lookUpAll(hashes, passed, first, hits, candidates, mostCandidates, ends)
      touched ^= readTexts(canonical.bytes, candidates, ends[n - 1] ?? 0, stride)
      for (let k = first, from = 0; k < n; from = ends[k++] ?? 0) {
        if ((ends[k] ?? 0) > from) visit(start + (passed[k] ?? 0), from, ends[k] ?? 0)
      }
    }
  }

  /** Adds one text in steps. Its characters are not searched before its end. */
  function* adding(added: string, origin: number, group: number): Steps<boolean> {
    const begin = text.start(origin, group)
    for (let from = 0, to = 0; from < added.length && canonical.length <= most; from = to) {
      if (from > 0) yield
      to = sliceEnd(added, from, added.length)
      appendCanonical(canonical, added, undefined, from, to)
    }
    const end = text.end(begin)
    if (end < 0) return false
    let fresh = false
    for (let start = begin; start + window <= end; start += piece * stride) {
      if (start > begin) yield
      if (indexPiece(start, end, origin, group)) fresh = true
    }
    close(begin, end, fresh)
    return true
  }

  /** Adds one text that is hardly longer than a slice. */
  function addShort(added: string, origin: number, group: number): boolean {
    const begin = text.start(origin, group)
    appendCanonical(canonical, added)
    const end = text.end(begin)
    if (end < 0) return false
    let fresh = false
    for (let start = begin; start + window <= end; start += piece * stride) {
      if (indexPiece(start, end, origin, group)) fresh = true
    }
    close(begin, end, fresh)
    return true
  }

  function indexPiece(start: number, end: number, origin: number, group: number): boolean {
    let fresh = false
    const count = Math.min(piece, Math.floor((end - window - start) / stride) + 1)
    sampleHashes(windowHash, canonical.bytes, start, count, stride, hashes)
    for (let n = 0; n < count; n++) {
      if (n % ahead === 0) samples.warmRow(hashes, n, Math.min(n + ahead, count))
      if (index(start + n * stride, hashes[n] ?? 0, origin, group)) fresh = true
    }
    return fresh
  }

  /** Keeps the text that was added, unless all its windows were known. */
  function close(begin: number, end: number, fresh: boolean): void {
    if (fresh) text.keep(end)
    else text.remove(begin, end)
  }

  /** Texts that are being added, in their order: each is brought to its end before the next begins. */
  const line: Steps<boolean>[] = []
  const results = new WeakMap<Steps<boolean>, boolean>()

  /** Does a step of the first of them. */
  function advance(): boolean {
    const [first] = line
    const step = first?.next()
    if (!first || !step?.done) return false
    results.set(first, step.value)
    line.shift()
    return true
  }

  function visitor(
    bytes: Uint8Array,
    size: number,
    found: (match: Match) => void,
  ): (at: number, first: number, end: number) => void {
    return (at, first, end) => {
      // Read again, since an addition meanwhile may have moved it.
      const kept = canonical.bytes
      for (let n = first; n < end; n++) {
        const sample = candidates[n] ?? 0
        const place = sample * stride
        const agreement = agreementAt(bytes, size, at, kept, place, window, minSpan)
        if (!agreement) continue
        const seen = repeats.get(sample)?.count ?? 1
        found({ ...agreement, origin: text.originAt(place), seen })
      }
      if (end - first < mostCopies || long.size === 0) return
      for (let start = Math.max(0, at - stride + 1); start <= at && start + minSpan <= size; start++) {
        const hashed = exactHash(bytes, start, minSpan)
        const places = long.mayHave(hashed) ? long.lookUp(hashed, longCandidates, 0, longCandidates.length) : 0
        for (let n = 0; n < places; n++) {
          const place = longCandidates[n] ?? 0
          const agreement = agreementAt(bytes, size, start, kept, place, minSpan, minSpan)
          if (agreement) found({ ...agreement, origin: text.originAt(place), seen: 1 })
        }
      }
    }
  }

  return {
    *add(added, origin, group) {
      const mine = adding(added, origin, group)
      line.push(mine)
      // Another caller may complete this addition meanwhile.
      while (line.includes(mine)) if (!advance() && line.includes(mine)) yield
      return results.get(mine) ?? false
    },
    addNow(added, origin, group) {
      if (line.length === 0 && added.length <= longText) return addShort(added, origin, group)
      return finish(this.add(added, origin, group))
    },
    *find(bytes, size, found) {
      yield* eachCandidate(bytes, size, visitor(bytes, size, found))
    },
    findNow(bytes, size, found) {
      const visit = visitor(bytes, size, found)
      for (let start = 0; start + window <= size; start += block) lookUpBlock(bytes, size, start, visit)
    },
    contains(bytes) {
      let tries = 0
      let whole = false
      const visit = (at: number, first: number, end: number): void => {
        for (let n = first; n < end && tries++ < mostTries && !whole; n++) {
          whole = text.hasAt(bytes, (candidates[n] ?? 0) * stride - at)
        }
      }
      // A longer search is useless.
      for (let start = 0; start + window <= bytes.length; start += block) {
        if (whole || tries >= mostTries) break
        lookUpBlock(bytes, bytes.length, start, visit)
      }
      if (whole || long.size === 0 || bytes.length < minSpan) return whole
      const places = long.lookUp(exactHash(bytes, 0, minSpan), longCandidates, 0, longCandidates.length)
      for (let n = 0; n < places && !whole; n++) whole = text.hasAt(bytes, longCandidates[n] ?? 0)
      return whole
    },
    get length() {
      return canonical.length - stride
    },
    get memory() {
      return {
        index: samples.bytes + long.bytes + text.listBytes + repeats.size * 64,
        text: canonical.bytes.byteLength,
      }
    },
  }
}

/** Prefetches the text at the first samples: all at once take hardly longer than one. */
function readTexts(bytes: Uint8Array, samples: Uint32Array, count: number, stride: number): number {
  let read = 0
  for (let n = 0; n < count; n++) read ^= bytes[(samples[n] ?? 0) * stride] ?? 0
  return read
}

/** The result of a prefetch. It is kept so that the read is not optimised away. */
let touched = 0
/** Places that `contains` compares. */
const mostTries = 64
