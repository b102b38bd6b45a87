import { setTimeout as delay } from 'node:timers/promises'

import { holdLease } from '../log/lease.ts'
import type { Lease } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { ParentRun } from '../types/run-tree.ts'

/** A child's log is written by whoever writes its parent's: one who died, or was overtaken, only has to be outlived. */
export async function awaitLease(plan: ResolvedAgent, log: string, signal: AbortSignal): Promise<Lease | undefined> {
  for (;;) {
    const lease = await holdLease(plan.store, log, plan.leaseMs, 'part')
    if (lease || signal.aborted) return lease
    await delay(leaseWaitMs, undefined, { signal }).catch(() => {})
  }
}

const leaseWaitMs = 100

/** Whoever has lost a log above has lost this one, too. */
export function leaseBelow(lease: Lease, lineage: ParentRun): Lease {
  return {
    ...lease,
    // The session's own lease counts for the logs below.
    steady: () => lineage.steady(),
    confirm() {
      const [above, own] = [lineage.confirm(), lease.confirm()]
      return above || own ? Promise.all([above, own]).then(() => {}) : undefined
    },
  }
}
