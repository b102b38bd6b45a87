import type { ClaimOptions, DueSession, SessionStore } from '@provost/core'
import { clockOf } from '@provost/core'

/**
 * Returns a claim for a store without a wake index: it lists the sessions with a run in progress, and finds those whose
 * writer has died. Deadlines and deliveries are found by the process that holds the session. For one process.
 */
export function claimByList(store: SessionStore): (options: ClaimOptions) => Promise<readonly DueSession[]> {
  /** When a claimed session may be claimed again. */
  const hidden = new Map<string, number>()

  return async ({ agents, limit, hiddenMs, except = [] }) => {
    const now = clockOf(store).now()
    for (const [id, until] of hidden) if (until <= now) hidden.delete(id)
    const found: DueSession[] = []
    for await (const { id, agent, principal } of store.list({ status: 'running' })) {
      if (found.length >= limit) break
      if (!agents.includes(agent) || hidden.has(id)) continue
      if (principal !== undefined && except.includes(principal)) continue
      const { holder, takeovers } = await store.leaseState(id)
      if (holder === 'alive') continue
      hidden.set(id, now + hiddenMs)
      found.push({ id, agent, takeovers, ...(principal !== undefined && { principal }) })
    }
    return found
  }
}
