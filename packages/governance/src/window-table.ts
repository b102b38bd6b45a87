/**
 * Numbers found by hash, in 4 bytes each: some bits of the hash beside the number, and bit maps in front, so that most
 * of what is not there costs one read of a small table. It is made of segments that grow one by one, at different
 * times: no insertion waits for the whole table.
 */
export interface WindowTable {
  insert(hash: number, value: number): void
  /** Whether anything may be stored under the hash. */
  mayHave(hash: number): boolean
  /** Writes which of the hashes {@link mayHave} lets through to `passed`; returns how many. */
  filter(hashes: Uint32Array, count: number, passed: Uint32Array): number
  /** Writes what may be stored under the hash to `found`, oldest first, between two places; returns where that ends. */
  lookUp(hash: number, found: Uint32Array, start: number, most: number): number
  /** Reads where the hashes would be stored, those with the numbers in `passed`: all at once takes hardly longer than one. */
  warm(hashes: Uint32Array, passed: Uint32Array, count: number): void
  readonly size: number
  /** What it occupies. */
  readonly bytes: number
}

interface Segment {
  slots: Uint32Array
  count: number
}

const segmentBits = 6
const segments = 1 << segmentBits
/** Of the slots, when a segment grows. */
const fullest = 0.75
const growth = 2
/** The fine map has a word of 32 bits for so many slots of the largest segment. */
const slotsForWord = 8
/** The coarse map stays in the cache of a processor: most of what is not there is told by it alone. */
const mostCoarse = 2 ** 18

/**
 * @param valueBits how many bits the largest value has; the rest of 32 tells hashes apart. Values begin at 1.
 * @param hashesOf writes the hashes of the first so many stored values.
 */
export function createWindowTable(
  valueBits: number,
  hashesOf: (values: Uint32Array, count: number, hashes: Uint32Array) => void,
): WindowTable {
  const valueMask = 2 ** valueBits - 1
  const tagMask = ~valueMask
  const parts: Segment[] = Array.from({ length: segments }, (_, n) => {
    // Sizes are spread over one step of growth: then so are the moments at which they grow.
    return { slots: new Uint32Array(Math.ceil(8 * growth ** (n / segments))), count: 0 }
  })
  // Each segment has as many words of the maps, one segment behind the other.
  let coarse = new Int32Array(segments * 2)
  let fine = new Int32Array(segments * 2)
  let [coarseShift, fineShift] = [1, 1]
  let size = 0

  function put(slots: Uint32Array, hash: number, value: number): void {
    let at = slotOf(hash, slots.length)
    while (slots[at] !== 0) at = at + 1 === slots.length ? 0 : at + 1
    slots[at] = (Math.imul(hash, tagFactor) & tagMask) | value
    const first = coarseWord(hash, coarseShift)
    coarse[first] = (coarse[first] ?? 0) | (1 << coarseBit(hash))
    const second = fineWord(hash, fineShift)
    fine[second] = (fine[second] ?? 0) | (1 << (hash & 31)) | (1 << otherBit(hash))
  }

  function grow(number: number, part: Segment): void {
    const { slots, count } = part
    const next = new Uint32Array(Math.ceil(slots.length * growth))
    while (fine.length * slotsForWord < next.length * segments) fine = widened(fine, fineShift++)
    if (coarse.length < mostCoarse && coarse.length < fine.length) coarse = widened(coarse, coarseShift++)
    fine.fill(0, number << fineShift, (number + 1) << fineShift)
    coarse.fill(0, number << coarseShift, (number + 1) << coarseShift)
    // Equal hashes keep their order: a walk that begins behind an empty slot meets each chain from its start.
    let start = 0
    while (slots[start] !== 0) start++
    const values = new Uint32Array(count)
    const hashes = new Uint32Array(count)
    for (let n = 1, at = start, filled = 0; n <= slots.length; n++) {
      at = at + 1 === slots.length ? 0 : at + 1
      const value = (slots[at] ?? 0) & valueMask
      if (value !== 0) values[filled++] = value
    }
    hashesOf(values, count, hashes)
    part.slots = next
    for (let n = 0; n < count; n++) put(next, hashes[n] ?? 0, values[n] ?? 0)
  }

  function mayHave(hash: number): boolean {
    const word = fine[fineWord(hash, fineShift)] ?? 0
    return ((word >>> (hash & 31)) & (word >>> otherBit(hash)) & 1) !== 0
  }

  function slotsOf(hash: number): Uint32Array {
    return parts[hash >>> (32 - segmentBits)]?.slots ?? nothing
  }

  return {
    insert(hash, value) {
      const number = hash >>> (32 - segmentBits)
      const part = parts[number]
      if (!part) return
      if (part.count + 1 > part.slots.length * fullest) grow(number, part)
      put(part.slots, hash, value)
      part.count++
      size++
    },
    mayHave,
    filter(hashes, count, passed) {
      const [first, second, firstShift, secondShift] = [coarse, fine, coarseShift, fineShift]
      let some = 0
      for (let n = 0; n < count; n++) {
        const hash = hashes[n] ?? 0
        passed[some] = n
        // No branch: the processor would guess wrong too often.
        some += ((first[coarseWord(hash, firstShift)] ?? 0) >>> coarseBit(hash)) & 1
      }
      let few = 0
      for (let n = 0; n < some; n++) {
        const at = passed[n] ?? 0
        const hash = hashes[at] ?? 0
        const word = second[fineWord(hash, secondShift)] ?? 0
        passed[few] = at
        few += (word >>> (hash & 31)) & (word >>> otherBit(hash)) & 1
      }
      return few
    },
    lookUp(hash, found, start, most) {
      const slots = slotsOf(hash)
      const tag = Math.imul(hash, tagFactor) & tagMask
      let end = start
      let place = slotOf(hash, slots.length)
      for (let slot = slots[place] ?? 0; slot !== 0 && end < most; slot = slots[place] ?? 0) {
        if ((slot & tagMask) === tag) found[end++] = slot & valueMask
        place = place + 1 === slots.length ? 0 : place + 1
      }
      return end
    },
    warm(hashes, passed, count) {
      for (let n = 0; n < count; n++) {
        const hash = hashes[passed[n] ?? 0] ?? 0
        const slots = slotsOf(hash)
        touched ^= (slots[slotOf(hash, slots.length)] ?? 0) ^ (fine[fineWord(hash, fineShift)] ?? 0)
      }
    },
    get size() {
      return size
    },
    get bytes() {
      return parts.reduce((sum, { slots }) => sum + slots.byteLength, coarse.byteLength + fine.byteLength)
    },
  }
}

/** What was read in advance: kept, or nothing would be read. */
let touched = 0
const nothing = new Uint32Array(1)

/** Where in its segment a hash begins; the segment is chosen by other bits. */
function slotOf(hash: number, slots: number): number {
  return Math.floor(((Math.imul(hash, 0x9e3779b1) >>> 0) / 2 ** 32) * slots)
}

/** Twice as many words say the same, until their segments grow and are told apart by the further bit. */
function widened(words: Int32Array<ArrayBuffer>, shift: number): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(words.length * 2)
  for (let number = 0; number < segments; number++) {
    const own = words.subarray(number << shift, (number + 1) << shift)
    wider.set(own, number << (shift + 1))
    wider.set(own, (number << (shift + 1)) + own.length)
  }
  return wider
}

/** The word of a hash in a map where each segment has as many as the shift says, a power of two. */
function fineWord(hash: number, shift: number): number {
  return ((hash >>> (32 - segmentBits)) << shift) | ((hash >>> 5) & ((1 << shift) - 1))
}

function coarseWord(hash: number, shift: number): number {
  return ((hash >>> (32 - segmentBits)) << shift) | ((Math.imul(hash, coarseFactor) >>> 15) & ((1 << shift) - 1))
}

function coarseBit(hash: number): number {
  return (Math.imul(hash, coarseFactor) >>> 10) & 31
}

const coarseFactor = 0x85ebca77 | 0
const tagFactor = 0xc2b2ae35 | 0

/** The fine map has two bits for a hash in one word: what is not there is told by one read. */
function otherBit(hash: number): number {
  return Math.imul(hash, 0x27d4eb2f) >>> 27
}
