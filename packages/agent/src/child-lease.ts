import { setTimeout as delay } from 'node:timers/promises'

import type { AgentPlan } from './agent-plan.ts'
import type { Lease } from './lease.ts'
import { holdLease } from './lease.ts'
import type { Lineage } from './lineage.ts'

/** A child's log is written by whoever writes its parent's: one who died, or was overtaken, only has to be outlived. */
export async function awaitLease(plan: AgentPlan, log: string, signal: AbortSignal): Promise<Lease | undefined> {
  for (;;) {
    const lease = await holdLease(plan.store, log, plan.leaseMs, 'part')
    if (lease || signal.aborted) return lease
    await delay(leaseWaitMs, undefined, { signal }).catch(() => {})
  }
}

const leaseWaitMs = 100

/** Whoever has lost a log above has lost this one, too. */
export function leaseBelow(lease: Lease, lineage: Lineage): Lease {
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
