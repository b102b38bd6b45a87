const hashLength = 64
const none: readonly string[] = []

/**
 * The SHA-256 hashes, in lower-case hexadecimal, that a text mentions: how a store knows which log needs which blob,
 * whatever the shape of the mention. Looks at every 64th character only, until one can be part of a hash.
 */
export function hashesIn(text: string): readonly string[] {
  let found: string[] | undefined
  let at = hashLength - 1
  while (at < text.length) {
    if (!isHexAt(text, at)) {
      at += hashLength
      continue
    }
    let from = at
    while (from > 0 && at - from < hashLength && isHexAt(text, from - 1)) from--
    let to = at + 1
    while (isHexAt(text, to)) to++
    if (to - from === hashLength) (found ??= []).push(text.slice(from, to))
    at = to + hashLength
  }
  return found ?? none
}

/**
 * Blobs that were put and that no log has mentioned since: one that a log mentions already may have been put again for
 * another log, and must not go with the first.
 */
export interface FreshBlobs {
  put(hash: string): void
  /** These are being appended. */
  mention(texts: Iterable<string>): void
  has(hash: string): boolean
}

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

/** Whether something can be the name of a blob at all. */
export function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}

function isHexAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 102)
}
