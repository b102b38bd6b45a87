import type { KnownIds } from './append-plan.ts'

/** Length of a UUID. */
const prefixLength = 36

/** Looked-up ids whose hashes are kept until the ids are added. */
const mostRecent = 8

/** Random seed, so that an attacker cannot choose ids whose hashes collide. */
const seed = Math.floor(Math.random() * 2 ** 32)

/**
 * Returns an empty index of ids for a long log. It keeps eight bytes for each id instead of the id, and compares ids of the
 * same hash with the log. A Map needs several times the memory and a seventh more time to fill for a long log. A Map is
 * faster for short logs, and where the ids are in memory anyway.
 *
 * @param idAt returns the id at an offset of the stored log.
 * @param expected number of ids at least: the index does not grow before it has them.
 */
export function createIdIndex(idAt: (offset: number) => string | undefined, expected: number): KnownIds {
  /** Open-addressed pairs of a hash and an offset; a pair without an offset is free. */
  let slots = new Uint32Array(Math.max(256, 2 ** Math.ceil(Math.log2(expected * 4 + 1))))
  let size = 0
  /** Hashes of recently looked-up ids, up to `recentSize`: an append looks its ids up and adds them in the same order. */
  const recent: string[] = []
  const recentHashes: number[] = []
  let recentSize = 0
  /** Number of them that were added or skipped. */
  let recentUsed = 0
  /** Prefix of the first id, the id of its run. It is hashed once for all ids that share it. */
  let prefix: string | undefined

  function hash(id: string): number {
    prefix ??= id.slice(0, prefixLength)
    return hashFrom(id, id.startsWith(prefix) ? prefix.length : 0)
  }

  function remember(id: string, code: number): void {
    if (recentUsed === recentSize || recentSize === mostRecent) recentSize = recentUsed = 0
    recent[recentSize] = id
    recentHashes[recentSize++] = code
  }

  function recalled(id: string): number {
    while (recentUsed < recentSize) {
      const at = recentUsed++
      if (recent[at] === id) return recentHashes[at] ?? 0
    }
    return hash(id)
  }

  /** Returns the first free pair for a hash. */
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

/** FNV-1a over the code units with a final mix, since the lower bits choose the slot. */
function hashFrom(id: string, from: number): number {
  let hash = seed
  for (let at = from; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01_00_01_93)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c_1b_3c_6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
