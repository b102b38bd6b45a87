import type { Json, Principal, SessionStore } from '@provost/core'
import { clockOf, uuidv7 } from '@provost/core'

const leaseMs = 60_000

/** What an operator did to a session that no other process writes. */
interface ConsoleWrite {
  readonly principal: Principal
  readonly rule: 'console-import' | 'console-fork'
  /** The number of entries in the log. */
  readonly after: number
  readonly agent: string
  readonly evidence?: Json
}

/** Records in the log of a new session which operator made it. */
export async function recordWrite(
  store: SessionStore,
  sessionId: string,
  { principal, rule, after, agent, evidence = {} }: ConsoleWrite,
): Promise<void> {
  const lease = await store.lease(sessionId, uuidv7(), leaseMs)
  if (lease === 'busy') return
  try {
    const place = {
      id: `${sessionId}/${rule}`,
      at: clockOf(store).now(),
      runId: sessionId,
      step: 0,
      agent,
      v: 1,
    } as const
    const row = { type: 'audit', decision: 'flagged', by: principal.id, rule, sources: [], evidence } as const
    await store.append(sessionId, [{ ...place, ...row }], { after, fence: lease.fence })
  } finally {
    await store.release(sessionId, lease.fence)
  }
}
