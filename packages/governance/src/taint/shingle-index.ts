/**
 * Finds numbers by hash, in 4 bytes each: some bits of the hash beside the number. A bit map in front makes most failed
 * lookups cost one read of a small table. It consists of segments that grow one by one, so that no insertion waits for
 * the whole table.
 */
export interface ShingleIndex {
  insert(hash: number, value: number): void
  /** Returns whether anything may be stored under the hash. */
  mayHave(hash: number): boolean
  /** Writes the hashes that pass {@link mayHave} to `passed`; returns their number. */
  filter(hashes: Int32Array, count: number, passed: Uint32Array): number
  /** Writes what may be stored under the hash to `found`, oldest first, from `start` on and `most` of it; returns where that ends. */
  lookUp(hash: number, found: Uint32Array, start: number, most: number): number
  /**
   * Like {@link lookUp} for the hashes with the numbers in `passed`, from `first` on while there is room for `most` of
   * each. Writes the end of each. Returns the number after the last one.
   */
  lookUpAll(
    hashes: Int32Array,
    passed: Uint32Array,
    first: number,
    count: number,
    found: Uint32Array,
    most: number,
    ends: Uint32Array,
  ): number
  /** Reads where the hashes with the numbers in `passed` would be stored: all at once takes hardly longer than one. */
  warm(hashes: Int32Array, passed: Uint32Array, count: number): void
  /** Reads ahead for consecutive hashes, before they are inserted. */
  warmRow(hashes: Int32Array, start: number, end: number): void
  readonly size: number
  /** Bytes in use. */
  readonly bytes: number
}

interface Segment {
  slots: Uint32Array
  count: number
  /** The number of times that it grew. */
  steps: number
}

const segmentBits = 8
const segments = 1 << segmentBits
/** Of the slots, when a segment grows. */
const fullest = 0.75
const growth = 2
const firstSlots = 4
/** The map has a word of 32 bits per this many slots of the largest segment. */
const slotsForWord = 8
/** Words of the map, at most: it stays in the cache of a processor. */
const mostWords = 2 ** 19

/**
 * @param valueBits bits of the largest value; the rest of 32 distinguishes hashes. Values start at 1.
 * @param hashesOf writes the hashes of the first stored values.
 */
export function createShingleIndex(
  valueBits: number,
  hashesOf: (values: Uint32Array, count: number, hashes: Int32Array) => void,
): ShingleIndex {
  const valueMask = 2 ** valueBits - 1
  const parts: Segment[] = Array.from({ length: segments }, () => ({ slots: nothing, count: 0, steps: 0 }))
  // Each segment has the same number of map words, one segment behind the other: the first bits of a hash select the
  // word.
  let map = new Int32Array(segments)
  let size = 0

  function grow(number: number, part: Segment): void {
    const { slots, count } = part
    // Sizes are spread over one step of growth: then so are the moments at which they grow.
    const grown = Math.ceil(firstSlots * growth ** (part.steps++ + number / segments))
    const next = new Uint32Array(grown)
    while (map.length < mostWords && map.length * slotsForWord < grown * segments) map = widened(map)
    const words = map.length / segments
    map.fill(0, number * words, (number + 1) * words)
    const values = new Uint32Array(count)
    const hashes = new Int32Array(count)
    // Equal hashes keep their order: a walk that begins behind an empty slot meets each chain from its start.
    const start = Math.max(0, slots.indexOf(0))
    for (let n = 1, at = start, filled = 0; n <= slots.length; n++) {
      at = at + 1 === slots.length ? 0 : at + 1
      const value = (slots[at] ?? 0) & valueMask
      if (value !== 0) values[filled++] = value
    }
    hashesOf(values, count, hashes)
    part.slots = next
    for (let n = 0; n < count; n++) {
      put(next, valueMask, hashes[n] ?? 0, values[n] ?? 0)
      mark(map, hashes[n] ?? 0)
    }
  }

  return {
    insert(hash, value) {
      const number = hash >>> (32 - segmentBits)
      const part = parts[number]
      if (!part) return
      if (part.count + 1 > part.slots.length * fullest) grow(number, part)
      put(part.slots, valueMask, hash, value)
      mark(map, hash)
      part.count++
      size++
    },
    mayHave(hash) {
      const word = map[hash >>> Math.clz32(map.length - 1)] ?? 0
      return ((word >>> hash) & (word >>> (hash >>> 5)) & 1) !== 0
    },
    filter: (hashes, count, passed) => filtered(map, hashes, count, passed),
    lookUp: (hash, found, start, most) => lookedUp(parts, valueMask, hash, found, start, start + most),
    lookUpAll(hashes, passed, first, count, found, most, ends) {
      const segmentsNow = parts
      const mask = valueMask
      let end = 0
      let n = first
      for (; n < count && end + most <= found.length; n++) {
        end = lookedUp(segmentsNow, mask, hashes[passed[n] ?? 0] ?? 0, found, end, end + most)
        ends[n] = end
      }
      return n
    },
    warm: (hashes, passed, count) => void (touched ^= readSlots(parts, hashes, passed, count)),
    warmRow: (hashes, start, end) => void (touched ^= readRow(parts, map, hashes, start, end)),
    get size() {
      return size
    },
    get bytes() {
      return parts.reduce((sum, { slots }) => sum + slots.byteLength, map.byteLength)
    },
  }
}

/** The result of a prefetch. It is kept so that the read is not optimised away. */
let touched = 0
/** The slots of an unused segment. */
const nothing = new Uint32Array(1)

// The following functions run for each letter of a text. They take everything as arguments, since variables of a
// closure are read anew each time.

function filtered(map: Int32Array, hashes: Int32Array, count: number, passed: Uint32Array): number {
  const shift = Math.clz32(map.length - 1)
  let few = 0
  for (let n = 0; n < count; n++) {
    const hash = hashes[n] ?? 0
    const word = map[hash >>> shift] ?? 0
    passed[few] = n
    // No branch: the processor would guess wrong too often.
    few += (word >>> hash) & (word >>> (hash >>> 5)) & 1
  }
  return few
}

function put(slots: Uint32Array, valueMask: number, hash: number, value: number): void {
  let at = slotOf(hash, slots.length)
  while (slots[at] !== 0) at = at + 1 === slots.length ? 0 : at + 1
  slots[at] = (Math.imul(hash, tagFactor) & ~valueMask) | value
}

function mark(map: Int32Array, hash: number): void {
  const word = hash >>> Math.clz32(map.length - 1)
  map[word] = (map[word] ?? 0) | (1 << hash) | (1 << (hash >>> 5))
}

function lookedUp(
  parts: readonly Segment[],
  valueMask: number,
  hash: number,
  found: Uint32Array,
  start: number,
  most: number,
): number {
  const slots = slotsOf(parts, hash)
  const tag = Math.imul(hash, tagFactor) & ~valueMask
  let end = start
  let place = slotOf(hash, slots.length)
  for (let slot = slots[place] ?? 0; slot !== 0 && end < most; slot = slots[place] ?? 0) {
    if ((slot & ~valueMask) === tag) found[end++] = slot & valueMask
    place = place + 1 === slots.length ? 0 : place + 1
  }
  return end
}

function readSlots(parts: readonly Segment[], hashes: Int32Array, passed: Uint32Array, count: number): number {
  let read = 0
  for (let n = 0; n < count; n++) {
    const hash = hashes[passed[n] ?? 0] ?? 0
    const slots = slotsOf(parts, hash)
    read ^= slots[slotOf(hash, slots.length)] ?? 0
  }
  return read
}

function readRow(parts: readonly Segment[], map: Int32Array, hashes: Int32Array, start: number, end: number): number {
  const shift = Math.clz32(map.length - 1)
  let read = 0
  for (let n = start; n < end; n++) {
    const hash = hashes[n] ?? 0
    const slots = slotsOf(parts, hash)
    read ^= (slots[slotOf(hash, slots.length)] ?? 0) ^ (map[hash >>> shift] ?? 0)
  }
  return read
}

function slotsOf(parts: readonly Segment[], hash: number): Uint32Array {
  return parts[hash >>> (32 - segmentBits)]?.slots ?? nothing
}

/** Returns the first slot of a hash in its segment. Other bits select the segment. */
function slotOf(hash: number, slots: number): number {
  return Math.floor(((Math.imul(hash, 0x9e3779b1) >>> 0) / 2 ** 32) * slots)
}

/** Twice as many words have the same bits until their segments grow, and a further bit separates them. */
function widened(words: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(words.length * 2)
  for (let n = 0; n < wider.length; n++) wider[n] = words[n >> 1] ?? 0
  return wider
}

const tagFactor = 0xc2b2ae35 | 0
