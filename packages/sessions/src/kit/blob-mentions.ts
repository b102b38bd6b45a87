import { createHash } from 'node:crypto'

const hashLength = 64
const none: readonly string[] = []

/** Returns the hash under which `putBlob` stores bytes: SHA-256, in lower-case hexadecimal. */
export function blobHash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/**
 * Returns the SHA-256 hashes, in lower-case hexadecimal, that a text mentions in any form. A store thereby knows which log
 * needs which blob. The scan reads only every 64th character, until one can be part of a hash.
 */
export function hashesIn(text: string): readonly string[] {
  for (let at = hashLength - 1; at < text.length; at += hashLength) {
    if (isHexAt(text, at) && mayBeHash(text, at)) return hashesFrom(text, at)
  }
  return none
}

/** Whether a place can be inside a hash: of 64 characters around it, one half is before or after it. */
function mayBeHash(text: string, at: number): boolean {
  return (isHexAt(text, at - 16) && isHexAt(text, at - 31)) || (isHexAt(text, at + 16) && isHexAt(text, at + 31))
}

function hashesFrom(text: string, start: number): readonly string[] {
  const found: string[] = []
  let at = start
  while (at < text.length) {
    if (!isHexAt(text, at)) {
      at += hashLength
      continue
    }
    let from = at
    while (from > 0 && at - from < hashLength && isHexAt(text, from - 1)) from--
    let to = at + 1
    while (isHexAt(text, to)) to++
    if (to - from === hashLength) found.push(text.slice(from, to))
    at = to + hashLength
  }
  return found.length > 0 ? found : none
}

/** Blobs that no log has mentioned since they were put. */
export interface FreshBlobs {
  /** Adds a blob, at each `putBlob`. */
  put(hash: string): void
  /** Removes the blobs that appended texts mention. */
  mention(texts: Iterable<string>): void
  has(hash: string): boolean
}

/**
 * Returns an empty set of fresh blobs, for a store of one process. A blob that one log mentions may be put again for
 * another log, and must then survive the deletion of the first: `delete` of a store keeps fresh blobs.
 */
export function freshBlobs(): FreshBlobs {
  const fresh = new Set<string>()
  return {
    put: (hash) => void fresh.add(hash),
    mention(texts) {
      if (fresh.size === 0) return
      for (const text of texts) for (const hash of hashesIn(text)) fresh.delete(hash)
    },
    has: (hash) => fresh.has(hash),
  }
}

/** Whether a text is a SHA-256 hash in lower-case hexadecimal. `blob` receives any text, which must not become a path. */
export function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}

function isHexAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 102)
}
