import type { Ask } from '@provost/core'

/** Merges approval requests into one question: all reasons, the shortest deadline. */
export function mergeApprovals(asks: readonly Ask[]): Ask {
  const [first] = asks
  if (first && asks.length === 1) return first
  const evidence = asks.flatMap((ask) => (ask.evidence === undefined ? [] : [ask.evidence]))
  const deadlines = asks.flatMap((ask) => (ask.expiresInMs === undefined ? [] : [ask.expiresInMs]))
  return {
    reason: asks.map((ask) => ask.reason).join('; '),
    ...(evidence.length > 0 && { evidence }),
    ...(deadlines.length > 0 && { expiresInMs: Math.min(...deadlines) }),
    ...(asks.every((ask) => ask.sticky) && { sticky: 'session' }),
  }
}
