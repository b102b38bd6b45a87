import type { Json, Principal, SessionStore } from '@provost/core'
import { clockOf, sleep, uuidv7 } from '@provost/core'

import { HttpError } from '../http/http-error.ts'
import { auditLogOf } from '../sessions/ownership.ts'

const leaseMs = 60_000
/** Tries to write beside other processes, each of which writes one entry. */
const mostTries = 40
const betweenTriesMs = 25

/** What an operator did to a session that no other process writes. */
interface ConsoleWrite {
  readonly principal: Principal
  readonly rule: 'console-import'
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

/** What an operator read of a session as a whole. */
interface ConsoleRead {
  readonly principal: Principal
  readonly rule: 'console-export' | 'console-replay'
  readonly agent: string
  readonly evidence: Json
}

/**
 * Records who reads a whole session, in a log of its own beside the session: a run may be writing the session's log.
 *
 * @throws HttpError 503: without the record nothing is read
 */
export async function recordRead(
  store: SessionStore,
  sessionId: string,
  { principal, rule, agent, evidence }: ConsoleRead,
): Promise<void> {
  const log = auditLogOf(sessionId)
  const clock = clockOf(store)
  for (let tries = 1; ; tries++) {
    const lease = await store.lease(log, uuidv7(), leaseMs)
    if (lease !== 'busy') {
      try {
        let after = 0
        for await (const { offset } of store.read(log)) after = offset
        const place = { id: `${log}/${after + 1}`, at: clock.now(), runId: log, step: 0, agent, v: 1 } as const
        const row = { type: 'audit', decision: 'flagged', by: principal.id, rule, sources: [], evidence } as const
        await store.append(log, [{ ...place, ...row }], { after, fence: lease.fence })
      } finally {
        await store.release(log, lease.fence)
      }
      return
    }
    if (tries === mostTries) throw auditBusy()
    await sleep(clock, betweenTriesMs)
  }
}

function auditBusy(): HttpError {
  return new HttpError(503, {
    code: 'session-busy',
    message: 'Other processes write the audit log of this session.',
    hint: 'Try again in a moment.',
    retryable: true,
  })
}
