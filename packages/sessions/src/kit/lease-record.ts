import type { Lease, LeaseState, LeaseTerms, Timestamp } from '@provost/core'
import { mostTakeovers } from '@provost/core'

/** The lease of a log as a store keeps it: plain data, beside the log. */
export interface LeaseRecord {
  /** Fence of the latest lease. It stays after a release, and rises with each new owner. */
  readonly fence: number
  /** The owner, until it releases the lease; also after its expiry. */
  readonly owner?: string
  /** When the owner took or renewed the lease, and when it expires: milliseconds of one clock, the store's. */
  readonly begun: number
  readonly until: number
  /** Consecutive takeovers. */
  readonly takeovers: number
  /** When the session was quarantined: milliseconds since 1970. */
  readonly quarantinedAt?: number
}

/** A request for a lease, as a store receives it in `lease`. */
export interface LeaseRequest {
  readonly owner: string
  /** Milliseconds until the lease expires. */
  readonly ttlMs: number
  /** The present time of the clock of `begun` and `until`, in milliseconds. */
  readonly now: number
  /** The same in milliseconds since 1970. Default: {@link now}. */
  readonly at?: Timestamp
  readonly terms?: LeaseTerms | undefined
  /** Returns a fence that is higher than all fences of the store before. Called for a new owner only. */
  nextFence(): number
}

/** The answer to a request for a lease. The store keeps `record` in the transaction in which it read the old one. */
export type LeaseDecision =
  /** `renewed`: the owner held the lease already. */
  | { readonly outcome: 'granted'; readonly record: LeaseRecord; readonly lease: Lease; readonly renewed: boolean }
  /** Another owner holds the lease. Nothing changes. */
  | { readonly outcome: 'busy' }
  /** The session is quarantined, by this request or earlier. The store keeps `record`, then throws `sessionQuarantined`. */
  | { readonly outcome: 'quarantined'; readonly record: LeaseRecord }

/**
 * Decides a request for a lease: renewal, takeover, refusal or quarantine. A takeover of an expired lease counts, unless
 * the request is for a part of a session; beyond `mostTakeovers` it quarantines the session.
 *
 * @param record stored lease of the log; undefined where the store has none.
 *
 * @example
 * const decision = grantLease(records.get(log), { owner, ttlMs, terms, now, nextFence: () => ++fences })
 * if (decision.outcome === 'busy') return 'busy'
 * records.set(log, decision.record)
 * if (decision.outcome === 'quarantined') throw sessionQuarantined(log)
 * return decision.lease
 */
export function grantLease(record: LeaseRecord | undefined, request: LeaseRequest): LeaseDecision {
  const { owner, ttlMs, now, terms, nextFence } = request
  const until = Math.min(now + ttlMs, Number.MAX_SAFE_INTEGER)
  if (record?.quarantinedAt !== undefined) return { outcome: 'quarantined', record }
  if (record?.owner === owner) {
    const takeovers = terms?.steady ? 0 : record.takeovers
    const { fence } = record
    return {
      outcome: 'granted',
      record: { fence, owner, begun: now, until, takeovers },
      lease: { fence, takeovers },
      renewed: true,
    }
  }
  const holder = record ? holderOf(record, now) : 'none'
  if (holder === 'alive') return { outcome: 'busy' }
  const counted = record?.takeovers ?? 0
  const takeovers = holder === 'lapsed' && !terms?.part ? counted + 1 : counted
  if (record && takeovers > mostTakeovers) {
    const { owner: _, ...rest } = record
    return { outcome: 'quarantined', record: { ...rest, quarantinedAt: request.at ?? now } }
  }
  const fence = nextFence()
  return {
    outcome: 'granted',
    record: { fence, owner, begun: now, until, takeovers },
    lease: { fence, takeovers },
    renewed: false,
  }
}

/**
 * Whether a fence permits an append: it is the latest one, and its lease was not released. An expired lease still permits
 * it, until another owner takes over.
 *
 * @example
 * if (!permitsAppend(records.get(log), fence)) throw fenced(log)
 */
export function permitsAppend(record: LeaseRecord | undefined, fence: number): boolean {
  return record?.owner !== undefined && record.fence === fence
}

/** Returns the lease after its release with a fence; the same record where the fence is not the latest. */
export function releaseLease(record: LeaseRecord, fence: number): LeaseRecord {
  if (record.owner === undefined || record.fence !== fence) return record
  const { owner: _, ...rest } = record
  return rest
}

/** Returns the lease after the end of its quarantine; undefined where the session is not in quarantine. */
export function endQuarantine(record: LeaseRecord | undefined): LeaseRecord | undefined {
  if (record?.quarantinedAt === undefined) return undefined
  const { quarantinedAt: _, ...rest } = record
  return { ...rest, takeovers: 0 }
}

/**
 * Returns what `leaseState` of a store returns.
 *
 * @param record stored lease of the log; undefined where the store has none.
 * @param now as in {@link LeaseRequest}.
 * @param at as in {@link LeaseRequest}.
 */
export function leaseStateOf(record: LeaseRecord | undefined, now: number, at: Timestamp = now): LeaseState {
  if (!record) return { holder: 'none', takeovers: 0 }
  const { owner, begun, takeovers, quarantinedAt } = record
  const holder = holderOf(record, now)
  const hasEnd = holder === 'alive' && record.until < Number.MAX_SAFE_INTEGER
  return {
    holder,
    ...(owner !== undefined && { owner }),
    // Leases of an earlier release have no begin.
    ...(owner !== undefined && Number.isFinite(begun) && { renewedAt: Math.round(at + begun - now) }),
    takeovers,
    ...(hasEnd && { until: Math.round(at + record.until - now) }),
    ...(quarantinedAt !== undefined && { quarantinedAt }),
  }
}

/**
 * Whether a lease is valid at a time. A lease that begins in the future by more than its duration was taken before the
 * clock was set back. It counts as expired, since it would block other writers until the clock catches up.
 */
function holderOf({ owner, begun, until }: LeaseRecord, now: number): LeaseState['holder'] {
  if (owner === undefined) return 'none'
  return until > now && begun - now <= until - begun ? 'alive' : 'lapsed'
}
