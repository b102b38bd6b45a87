import type { Json, Principal, SessionStore } from '@provost/core'
import { canonicalJson, clockOf, sleep, toJson, uuidv7 } from '@provost/core'
import { auditLogOf } from '@provost/sessions'

import { HttpError } from '../http/http-error.ts'

const leaseMs = 60_000
/** Tries to write beside other processes, each of which writes one entry. */
const mostTries = 40
const betweenTriesMs = 25
/** Milliseconds in which the same operator doing the same again adds no entry: a page that polls must not fill the log. */
const sameMs = 60_000

/** What an operator did with a session as a whole. */
interface ConsoleAct {
  readonly principal: Principal
  readonly rule: 'console-export' | 'console-import' | 'console-replay' | 'console-what-if' | 'console-forget'
  readonly agent: string
  readonly evidence: Json
}

/**
 * Records what an operator did with a session, in a log of its own beside the session: a run may be writing the session's
 * log. The same act of the same operator within a minute of a recorded one is not recorded again.
 *
 * @throws HttpError 503: without the record nothing is read
 */
export async function recordAct(store: SessionStore, sessionId: string, act: ConsoleAct): Promise<void> {
  const log = auditLogOf(sessionId)
  const clock = clockOf(store)
  for (let tries = 1; ; tries++) {
    const { after, isRecorded } = await endOf(store, log, act, clock.now() - sameMs)
    if (isRecorded) return
    const lease = await store.lease(log, uuidv7(), leaseMs)
    if (lease !== 'busy') {
      try {
        // Another process may have written meanwhile.
        const end = await endOf(store, log, act, clock.now() - sameMs, after)
        if (!end.isRecorded) {
          const { principal, rule, agent, evidence } = act
          const id = `${log}/${end.after + 1}`
          const place = { id, at: clock.now(), runId: log, step: 0, agent, v: 1 } as const
          const row = { type: 'audit', decision: 'flagged', by: principal.id, rule, sources: [], evidence } as const
          await store.append(log, [{ ...place, ...row }], { after: end.after, fence: lease.fence })
        }
      } finally {
        await store.release(log, lease.fence)
      }
      return
    }
    if (tries === mostTries) throw auditBusy()
    await sleep(clock, betweenTriesMs)
  }
}

/** Reads the entries behind an offset: the last offset, and whether an entry since a moment records the same act. */
async function endOf(
  store: SessionStore,
  log: string,
  { principal, rule, evidence }: ConsoleAct,
  since: number,
  from = 0,
): Promise<{ readonly after: number; readonly isRecorded: boolean }> {
  const same = canonicalJson(evidence)
  let after = from
  let isRecorded = false
  for await (const entry of store.read(log, from)) {
    after = entry.offset
    if (entry.type !== 'audit' || entry.at <= since || entry.by !== principal.id || entry.rule !== rule) continue
    if (canonicalJson(toJson(entry.evidence)) === same) isRecorded = true
  }
  return { after, isRecorded }
}

function auditBusy(): HttpError {
  return new HttpError(503, {
    code: 'session-busy',
    message: 'Other processes write the audit log of this session.',
    hint: 'Try again in a moment.',
    retryable: true,
  })
}
