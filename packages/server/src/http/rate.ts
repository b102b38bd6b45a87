/** Limits the requests of each principal. */
export interface Rate {
  /** Counts a request. @returns seconds to wait; 0 if the request is allowed. */
  take(key: string): number
}

interface Bucket {
  tokens: number
  at: number
}

const mostKeys = 10_000

/** Creates a token bucket for each key, which refills in a minute. @param now milliseconds, never going back. */
export function createRate(perMinute: number, now: () => number): Rate {
  const buckets = new Map<string, Bucket>()
  const perMs = perMinute / 60_000

  return {
    take(key) {
      const at = now()
      const bucket = buckets.get(key) ?? { tokens: perMinute, at }
      bucket.tokens = Math.min(perMinute, bucket.tokens + (at - bucket.at) * perMs)
      bucket.at = at
      buckets.delete(key)
      buckets.set(key, bucket)
      if (buckets.size > mostKeys) {
        // Drops the least recently used bucket, which has refilled the most.
        const [oldest] = buckets.keys()
        if (oldest !== undefined) buckets.delete(oldest)
      }
      if (bucket.tokens >= 1) {
        bucket.tokens--
        return 0
      }
      return Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000))
    },
  }
}
