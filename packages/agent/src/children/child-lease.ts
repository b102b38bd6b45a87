import { clockOf, sleep } from '@provost/core'

import { holdLease } from '../log/lease.ts'
import type { Lease } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { ParentHere } from '../types/run-tree.ts'

/**
 * Waits for the lease of a child's log. The writer of the parent's log also writes the child's, so an earlier lease
 * belongs to a process that died or was taken over, and expires.
 */
export async function awaitLease(agent: ResolvedAgent, log: string, signal: AbortSignal): Promise<Lease | undefined> {
  for (;;) {
    const lease = await holdLease(agent.store, log, agent.leaseMs, 'part')
    if (lease || signal.aborted) return lease
    await sleep(clockOf(agent.store), leaseWaitMs, signal)
  }
}

const leaseWaitMs = 100

/** Returns a lease that is lost together with the lease of a log above. */
export function childLease(lease: Lease, parent: ParentHere): Lease {
  return {
    ...lease,
    // The lease of the session's own log decides for the logs below.
    steady: () => parent.steady(),
    confirm() {
      const [above, own] = [parent.confirm(), lease.confirm()]
      return above || own ? Promise.all([above, own]).then(() => {}) : undefined
    },
  }
}
