import type { SessionStore } from '@provost/core'
import { sessionQuarantined, uuidv7 } from '@provost/core'

/**
 * Reads a session. Where its last writer died, the read happens under a lease, which the store counts as a takeover: a
 * log that brings down each process that reads it ends in quarantine. Any other session is read without a lease.
 *
 * @param leaseMs milliseconds until another process may take over from this one.
 * @param read runs once.
 * @throws ProvostError `session-quarantined`, and whatever `read` throws.
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
  // Another process was faster: it is counted there.
  if (lease === 'busy') return read()
  try {
    return await read()
  } finally {
    await store.release(sessionId, lease.fence)
  }
}
