import { randomUUID } from 'node:crypto'

import type { SessionStore } from '@provost/core'

/** The right to write a log, kept alive until it is released. */
export interface Lease {
  readonly fence: number
  release(): Promise<void>
}

const ttlMs = 30_000

/**
 * Takes the lease of a log and renews it in the background.
 *
 * @returns undefined when another writer has it.
 */
export async function holdLease(store: SessionStore, log: string): Promise<Lease | undefined> {
  const owner = randomUUID()
  // Where nothing outlives the process, nobody has to be able to take over from a dead one.
  const lease = await store.lease(log, owner, store.ephemeral ? Number.POSITIVE_INFINITY : ttlMs)
  if (lease === 'busy') return undefined
  const { fence } = lease
  // A renewal that fails is found by the next append: the store refuses an old fence.
  const renew = (): unknown => store.lease(log, owner, ttlMs).catch(() => {})
  const renewal = store.ephemeral ? undefined : setInterval(renew, ttlMs / 3).unref()
  return {
    fence,
    async release() {
      clearInterval(renewal)
      try {
        await store.release(log, fence)
      } catch {
        // It runs out by itself.
      }
    },
  }
}
