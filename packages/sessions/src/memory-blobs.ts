import { hash } from 'node:crypto'

/** Bytes by their SHA-256, and the sessions that need them. */
export interface Blobs {
  get(hash: string): Uint8Array | undefined
  /** @param sessionId without one the bytes stay for good. */
  put(bytes: Uint8Array, sessionId: string | undefined): string
  /** Drops what no other session needs. */
  release(sessionId: string): void
}

interface Blob {
  readonly bytes: Uint8Array
  readonly sessions: Set<string>
  kept: boolean
}

export function createBlobs(): Blobs {
  const blobs = new Map<string, Blob>()
  const needed = new Map<string, Set<string>>()
  return {
    // A copy: whoever writes into it does not change what others read.
    get: (key) => blobs.get(key)?.bytes.slice(),

    put(bytes, sessionId) {
      const key = hash('sha256', bytes)
      let blob = blobs.get(key)
      if (!blob) blobs.set(key, (blob = { bytes: new Uint8Array(bytes), sessions: new Set(), kept: false }))
      if (sessionId === undefined) blob.kept = true
      else {
        blob.sessions.add(sessionId)
        const keys = needed.get(sessionId) ?? new Set()
        needed.set(sessionId, keys.add(key))
      }
      return key
    },

    release(sessionId) {
      for (const key of needed.get(sessionId) ?? []) {
        const blob = blobs.get(key)
        blob?.sessions.delete(sessionId)
        if (blob && blob.sessions.size === 0 && !blob.kept) blobs.delete(key)
      }
      needed.delete(sessionId)
    },
  }
}
