import { emptyCanonical, folded, makeRoom } from '../text/canonical-text.ts'
import type { Canonical } from '../text/canonical-text.ts'

/**
 * Texts in canonical form, one behind the other, each with its origin and group. Between two texts there is at least one
 * zero, and each begins at a multiple of the stride: an equal text gets equal samples.
 */
export interface IndexedText {
  readonly canonical: Canonical
  /** Returns whether the indexed text has the same characters at two positions, in any case. */
  same(a: number, b: number, count: number): boolean
  /** Returns whether every span of `window + stride - 1` characters over the one sample also exists over the other. */
  sameAround(a: number, b: number): boolean
  /** Returns whether `bytes` is at a position, in any case. */
  hasAt(bytes: Uint8Array, position: number): boolean
  /** Returns whether `count` characters of one text begin at a position. */
  isWithinText(position: number, count: number): boolean
  originAt(position: number): number
  groupAt(position: number): number
  /** Starts a text at the end. Its characters are appended to `canonical`. Returns its position. */
  start(origin: number, group: number): number
  /** Ends the last text. Returns its end, or removes it and returns -1 if it exceeds the capacity. */
  end(begin: number): number
  /** Moves the end of `canonical` to where the next text may begin. */
  keep(end: number): void
  /** Removes the last text. */
  remove(begin: number, end: number): void
  /** Bytes of the list of texts. */
  readonly listBytes: number
}

/** @param capacity the largest position of an end. */
export function createIndexedText(stride: number, window: number, capacity: number): IndexedText {
  const canonical = emptyCanonical()
  // Sample 0 does not exist: the first text begins behind it.
  canonical.length = stride
  let starts = new Uint32Array(16)
  let origins = new Uint32Array(16)
  let groups = new Uint8Array(16)
  let texts = 0

  /** Returns the number of the text that contains a position. */
  function textAt(position: number): number {
    let [low, high] = [0, texts - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= position) low = middle
      else high = middle - 1
    }
    return low
  }

  function remove(begin: number, end: number): void {
    canonical.bytes.fill(0, begin, end + stride)
    canonical.length = begin
    texts--
  }

  return {
    canonical,
    same(a, b, count) {
      const { bytes } = canonical
      for (let i = 0; i < count; i++) if (folded[bytes[a + i] ?? 0] !== folded[bytes[b + i] ?? 0]) return false
      return true
    },
    sameAround(a, b) {
      const { bytes } = canonical
      for (let i = -1; i > -stride; i--) {
        const code = bytes[a + i] ?? 0
        if (folded[code] !== folded[bytes[b + i] ?? 0]) return false
        if (code === 0) break
      }
      for (let i = 0; i < window + stride - 1; i++) {
        const code = bytes[a + i] ?? 0
        if (folded[code] !== folded[bytes[b + i] ?? 0]) return false
        if (code === 0) break
      }
      return true
    },
    hasAt(bytes, position) {
      if (position < stride || position + bytes.length > canonical.length) return false
      for (let i = 0; i < bytes.length; i++) {
        if (folded[bytes[i] ?? 0] !== folded[canonical.bytes[position + i] ?? 0]) return false
      }
      return true
    },
    isWithinText(position, count) {
      if (position < stride || position + count > canonical.length) return false
      for (let i = position; i < position + count; i++) if (canonical.bytes[i] === 0) return false
      return true
    },
    originAt(position) {
      return origins[textAt(position)] ?? 0
    },
    groupAt(position) {
      return groups[textAt(position)] ?? 0
    },
    start(origin, group) {
      if (texts === starts.length) {
        starts = enlarged(starts, new Uint32Array(texts * 2))
        origins = enlarged(origins, new Uint32Array(texts * 2))
        groups = enlarged(groups, new Uint8Array(texts * 2))
      }
      starts[texts] = canonical.length
      origins[texts] = origin
      groups[texts++] = group
      return canonical.length
    },
    end(begin) {
      const end = canonical.length
      // Zeros follow the last text, up to the end of what a sample compares.
      makeRoom(canonical, 2 * stride)
      if (end > capacity) {
        remove(begin, end)
        return -1
      }
      canonical.bytes.fill(0, end, end + 2 * stride)
      return end
    },
    keep(end) {
      canonical.length = Math.ceil((end + 1) / stride) * stride
    },
    remove,
    get listBytes() {
      return starts.byteLength + origins.byteLength + groups.byteLength
    },
  }
}

function enlarged<A extends Uint32Array | Uint8Array>(from: A, to: A): A {
  to.set(from)
  return to
}
