import type { SessionStore } from '@provost/core'
import { sessionQuarantined, uuidv7 } from '@provost/core'

/**
 * Reads a session. If its last writer died, the read takes a lease, which the store counts as a takeover. A log that kills
 * each process that reads it therefore ends in quarantine. Other sessions are read without a lease.
 *
 * @param leaseMs milliseconds after which another process may take over.
 * @param read runs once.
 * @throws ProvostError `session-quarantined`, and errors of `read`.
 */
export async function countedRead<T>(
  store: SessionStore,
  sessionId: string,
  leaseMs: number,
  read: () => Promise<T>,
): Promise<T> {
  const { holder, quarantinedAt } = await store.leaseState(sessionId)
  if (quarantinedAt !== undefined) throw sessionQuarantined(sessionId)
  if (holder !== 'lapsed') return read()
  const lease = await store.lease(sessionId, uuidv7(), leaseMs)
  // Another process holds the lease and was counted.
  if (lease === 'busy') return read()
  try {
    return await read()
  } finally {
    await store.release(sessionId, lease.fence)
  }
}
