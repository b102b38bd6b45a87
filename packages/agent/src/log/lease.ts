import type { LeaseTerms, SessionStore } from '@provost/core'
import { clockOf, every, leaseOwner, longestTimerMs, ProvostError } from '@provost/core'

import type { Lease } from '../types/log.ts'

/**
 * Takes the lease of a log and renews it in the background.
 *
 * @param ttlMs milliseconds until another writer may take over from a dead one.
 * @param of `part` for a log below the main log of a session: takeovers are counted on the main log only.
 * @returns undefined when another writer has it.
 * @throws ProvostError `session-quarantined`
 */
export async function holdLease(
  store: SessionStore,
  log: string,
  ttlMs: number,
  of?: 'part',
): Promise<Lease | undefined> {
  const owner = leaseOwner()
  const clock = clockOf(store)
  const asked = clock.elapsed()
  const terms: LeaseTerms = of === 'part' ? { part: true } : {}
  // An ephemeral store ends with the process, so its leases never expire.
  const lease = await store.lease(log, owner, store.ephemeral ? Number.POSITIVE_INFINITY : ttlMs, terms)
  if (lease === 'busy') return undefined
  const { fence, takeovers } = lease
  const release = (): Promise<void> => releaseLease(store, log, fence)
  if (store.ephemeral) {
    const steady = async (): Promise<void> => {
      if (takeovers > 0) await store.lease(log, owner, Number.POSITIVE_INFINITY, { ...terms, steady: true })
    }
    return { fence, takeovers, steady, confirm: () => undefined, release }
  }

  /** A lower bound: it counts from before the request to the store. */
  let until = asked + ttlMs
  let lost = false
  let isSteady = false

  async function renew(): Promise<void> {
    const began = clock.elapsed()
    const renewed = await store.lease(log, owner, ttlMs, isSteady ? { ...terms, steady: true } : terms)
    if (renewed !== 'busy' && renewed.fence === fence) {
      until = Math.max(until, began + ttlMs)
      return
    }
    lost = true
    renewal.cancel()
    // The lease was free again, but another writer held it meanwhile: the state of this writer is stale.
    if (renewed !== 'busy') await releaseLease(store, log, renewed.fence)
  }

  async function ask(): Promise<void> {
    if (!lost) await renew()
    if (lost) throw leaseLostError(log)
  }

  /** The latest renewal in the background. */
  let renewing: Promise<void> | undefined
  // The next append detects a failed renewal: the store rejects an old fence.
  const renewInBackground = (): void => void (renewing = renew().catch(() => {}))
  const renewal = every(clock, Math.min(ttlMs / 3, longestTimerMs), renewInBackground, { background: true })
  return {
    fence,
    takeovers,
    async steady() {
      if (isSteady || lost) return
      isSteady = true
      if (takeovers > 0) await renew()
    },
    confirm: () => (!lost && clock.elapsed() < until ? undefined : ask()),
    async release() {
      renewal.cancel()
      // A renewal that arrives at the store after the release would take the lease again.
      await renewing
      await releaseLease(store, log, fence)
    },
  }
}

async function releaseLease(store: SessionStore, log: string, fence: number): Promise<void> {
  try {
    await store.release(log, fence)
  } catch {
    // The lease expires by itself.
  }
}

function leaseLostError(log: string): ProvostError {
  return new ProvostError('fenced', `Another process has taken over ${log}.`, {
    hint: 'Continue the session there. The unfinished work of this process is discarded.',
  })
}
