/**
 * Numbers found by hash, in 4 bytes each: some bits of the hash beside the number, and a bit map in front, so that most
 * of what is not there costs one read of a small table. It is made of segments that grow one by one, at different
 * times: no insertion waits for the whole table.
 */
export interface WindowTable {
  insert(hash: number, value: number): void
  /** Whether anything may be stored under the hash. */
  mayHave(hash: number): boolean
  /** Writes the numbers of those hashes that {@link mayHave} lets through to `passed`; returns how many. */
  filter(hashes: Uint32Array, count: number, passed: Uint32Array): number
  /** Writes what may be stored under the hash to `found`, oldest first; returns how many. */
  lookUp(hash: number, found: Uint32Array): number
  readonly size: number
  /** What it occupies. */
  readonly bytes: number
}

interface Segment {
  slots: Uint32Array
  /** Of a size that is a power of two. */
  bits: Int32Array
  count: number
}

const segmentBits = 6
const segments = 1 << segmentBits
/** Of the slots, when a segment grows. */
const fullest = 0.75
const growth = 2

/**
 * @param valueBits how many bits the largest value has; the rest of 32 tells hashes apart. Values begin at 1.
 * @param hashOf gives the hash of a stored value again.
 * @param touch reads a byte of what that hash is of.
 */
export function createWindowTable(
  valueBits: number,
  hashOf: (value: number) => number,
  touch: (value: number) => number,
): WindowTable {
  const valueMask = 2 ** valueBits - 1
  const parts: Segment[] = Array.from({ length: segments }, (_, n) => {
    // Sizes are spread over one step of growth: then so are the moments at which they grow.
    const size = Math.ceil(8 * growth ** (n / segments))
    return { slots: new Uint32Array(size), bits: bitsFor(size), count: 0 }
  })
  let size = 0

  /** Where in its segment a hash begins; the segment is chosen by other bits. */
  const slotOf = (hash: number, slots: number): number =>
    Math.floor(((Math.imul(hash, 0x9e3779b1) >>> 0) / 2 ** 32) * slots)
  const tagOf = (hash: number): number => ((hash >>> (valueBits - segmentBits)) << valueBits) >>> 0

  function put({ slots, bits }: Segment, hash: number, value: number): void {
    let at = slotOf(hash, slots.length)
    while ((slots[at] ?? 0) !== 0) at = at + 1 === slots.length ? 0 : at + 1
    slots[at] = (tagOf(hash) | value) >>> 0
    const word = (hash >>> 5) & (bits.length - 1)
    bits[word] = (bits[word] ?? 0) | marksOf(hash)
  }

  function mayHave(hash: number): boolean {
    const bits = parts[hash >>> (32 - segmentBits)]?.bits ?? nothing
    const marks = marksOf(hash)
    return ((bits[(hash >>> 5) & (bits.length - 1)] ?? 0) & marks) === marks
  }

  function grow(part: Segment): void {
    const { slots } = part
    const next = Math.ceil(slots.length * growth)
    part.slots = new Uint32Array(next)
    part.bits = bitsFor(next)
    // Equal hashes keep their order: a walk that begins behind an empty slot meets each chain from its start.
    let start = 0
    while ((slots[start] ?? 0) !== 0) start++
    const values = new Uint32Array(part.count)
    let count = 0
    for (let n = start + 1; n <= start + slots.length; n++) {
      const value = ((slots[n < slots.length ? n : n - slots.length] ?? 0) & valueMask) >>> 0
      if (value !== 0) values[count++] = value
    }
    for (let n = 0; n < count; n++) {
      // Many reads at once take hardly longer than one: the hash then finds in the cache what it wants.
      if (n % ahead === 0) for (let m = n; m < n + ahead && m < count; m++) touched ^= touch(values[m] ?? 0)
      const value = values[n] ?? 0
      put(part, hashOf(value), value)
    }
  }

  return {
    insert(hash, value) {
      const part = parts[hash >>> (32 - segmentBits)]
      if (!part) return
      if (part.count + 1 > part.slots.length * fullest) grow(part)
      put(part, hash, value)
      part.count++
      size++
    },
    mayHave,
    filter(hashes, count, passed) {
      let kept = 0
      for (let n = 0; n < count; n++) if (mayHave(hashes[n] ?? 0)) passed[kept++] = n
      return kept
    },
    lookUp(hash, found) {
      const part = parts[hash >>> (32 - segmentBits)]
      if (!part) return 0
      const { slots } = part
      const tag = tagOf(hash)
      let count = 0
      let at = slotOf(hash, slots.length)
      for (let slot = slots[at] ?? 0; slot !== 0 && count < found.length; slot = slots[at] ?? 0) {
        if ((slot & ~valueMask) >>> 0 === tag) found[count++] = slot & valueMask
        at = at + 1 === slots.length ? 0 : at + 1
      }
      return count
    },
    get size() {
      return size
    },
    get bytes() {
      return parts.reduce((sum, { slots, bits }) => sum + slots.byteLength + bits.byteLength, 0)
    },
  }
}

/** Values whose text is read in advance when a segment grows. */
const ahead = 32
/** What was read so: kept, or nothing would be read. */
let touched = 0
const nothing = new Int32Array(1)

/** Two bits in one word: what is not there is told at the price of one read, and passes half as often as by one bit. */
function marksOf(hash: number): number {
  return (1 << (hash & 31)) | (1 << ((hash >>> 20) & 31))
}

/** Four to eight bits for each slot. */
function bitsFor(slots: number): Int32Array {
  return new Int32Array(2 ** Math.ceil(Math.log2(Math.max(1, slots / 8))))
}
