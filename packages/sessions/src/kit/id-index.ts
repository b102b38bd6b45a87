import type { KnownIds } from './append-plan.ts'

/** Of a UUID. */
const prefixLength = 36

/** Ids whose hashes are kept until they are taken in. */
const mostRecent = 8

/** Hashes of ids are not to be foreseen: nobody can choose ids that are slow to look up. */
const seed = Math.floor(Math.random() * 2 ** 32)

/**
 * For a log that is long already: an index of no ids yet. Keeps eight bytes for each and not the id itself: what has the
 * same hash is compared with what stands in the log. A Map takes a seventh longer to fill when a long log is resumed, and
 * several times the memory; it is quicker to begin with, and where the ids are in memory anyway.
 *
 * @param idAt the id that stands at an offset, from wherever the log is kept.
 * @param expected how many it will take in at least: it need not grow on the way there.
 */
export function createIdIndex(idAt: (offset: number) => string | undefined, expected: number): KnownIds {
  /** Pairs of a hash and an offset, from the place on that the hash names; without an offset, a pair is free. */
  let slots = new Uint32Array(Math.max(256, 2 ** Math.ceil(Math.log2(expected * 4 + 1))))
  let size = 0
  /** Ids are looked for before they are taken in, those of one append in the same order: their hashes, up to `asked`. */
  const recent: string[] = []
  const recentHashes: number[] = []
  let asked = 0
  /** How many of them have been taken in, or passed over. */
  let taken = 0
  /** What the first id begins with, the name of its run, is not looked at again in each id that begins with it. */
  let prefix: string | undefined

  function hash(id: string): number {
    prefix ??= id.slice(0, prefixLength)
    return hashFrom(id, id.startsWith(prefix) ? prefix.length : 0)
  }

  function remember(id: string, code: number): void {
    if (taken === asked || asked === mostRecent) asked = taken = 0
    recent[asked] = id
    recentHashes[asked++] = code
  }

  function recalled(id: string): number {
    while (taken < asked) {
      const at = taken++
      if (recent[at] === id) return recentHashes[at] ?? 0
    }
    return hash(id)
  }

  /** The first free pair for a hash. */
  function free(code: number): number {
    const mask = slots.length - 2
    let at = (code << 1) & mask
    while (slots[at + 1] !== 0) at = (at + 2) & mask
    return at
  }

  function put(code: number, offset: number): void {
    const at = free(code)
    slots[at] = code
    slots[at + 1] = offset
  }

  function grow(): void {
    const old = slots
    slots = new Uint32Array(old.length * 2)
    for (let at = 0; at < old.length; at += 2) if (old[at + 1] !== 0) put(old[at] ?? 0, old[at + 1] ?? 0)
  }

  return {
    get size() {
      return size
    },
    get(id) {
      const code = hash(id)
      remember(id, code)
      const mask = slots.length - 2
      for (let at = (code << 1) & mask; slots[at + 1] !== 0; at = (at + 2) & mask) {
        const offset = slots[at + 1] ?? 0
        if (slots[at] === code && idAt(offset) === id) return offset
      }
      return undefined
    },
    set(id, offset) {
      if (++size * 4 > slots.length) grow()
      put(recalled(id), offset)
    },
  }
}

/** FNV-1a over the code units, with its bits mixed once more: the lower ones choose the place. */
function hashFrom(id: string, from: number): number {
  let hash = seed
  for (let at = from; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01_00_01_93)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c_1b_3c_6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
