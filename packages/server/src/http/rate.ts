/** Counts what each principal asks for. */
export interface Rate {
  /** @returns seconds to wait; 0 where it may be. */
  take(key: string): number
}

interface Bucket {
  tokens: number
  at: number
}

const mostKeys = 10_000

/** A bucket of tokens for each key, which fills up in a minute. @param now milliseconds; default the monotonic clock. */
export function createRate(perMinute: number, now: () => number = () => performance.now()): Rate {
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
        // The one that was seen least lately has had the most time to fill up.
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
