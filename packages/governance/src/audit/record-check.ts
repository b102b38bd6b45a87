import type { Entry, EntryOf } from '@provost/core'
import { isRecord } from '@provost/core'

import type { AuditedCall, AuditProblem } from './audit-report.ts'
import { problem } from './audit-report.ts'
import { callsIn, isCopyMark } from './audited-entry.ts'

/** What entries state of one call. */
interface CallRecord {
  readonly callId: string
  readonly toolName: string
  readonly agent: string
  readonly decisions: string[]
  readonly approvers: string[]
  outcome?: string
  /** The last decision. */
  last?: string
  /** A question about the call has no approval yet. */
  asked: boolean
}

/** Milliseconds that the clocks of the processes that write one log may differ by. */
const clockSkewMs = 60_000

/** What {@link checkRecords} returns. */
interface RecordCheck {
  readonly problems: readonly AuditProblem[]
  readonly calls: readonly AuditedCall[]
}

/**
 * Compares what the entries of a log state of each other: a call runs after a decision that allows it, or after an approval.
 * This also finds what a writer that has the key records against its own decisions.
 *
 * @param isPartial entries were deleted, so that calls may be missing.
 */
export function checkRecords(log: readonly Entry[], isPartial: boolean): RecordCheck {
  const problems: AuditProblem[] = []
  const calls = new Map<string, CallRecord>()
  const waits = new Map<string, EntryOf<'wait'>>()
  let latest = 0
  let isBackwards = false

  /** Returns the record of a call. A record about an unknown call is a problem. */
  function recordOf(callId: string, entry: Entry): CallRecord | undefined {
    const call = calls.get(callId)
    if (!call && !isPartial)
      problems.push(problem('record-without-call', entry.id, `The log has no call ${callId} before this entry.`))
    return call
  }

  function readCall(entry: EntryOf<'call'>): void {
    if (entry.op === 'planned' || entry.op === 'deferred' || entry.op === 'parked') return
    const call = recordOf(entry.callId, entry)
    if (!call) return
    if (entry.op === 'decided') {
      call.decisions.push(entry.outcome)
      call.last = entry.outcome
      if (entry.outcome === 'ask') call.asked = true
      return
    }
    if (entry.op === 'started') problems.push(...withoutConsent(call))
    else if (call.outcome !== undefined)
      problems.push(problem('outcome-twice', entry.id, `The call ${entry.callId} has two results.`))
    else {
      call.outcome = entry.outcome
      // A lookup after a crash decides that the call has a result: it was started with consent.
      const ran = entry.via === 'executed' || entry.via === 'remote'
      if (entry.outcome === 'ok' && ran && call.last !== 'result') problems.push(...withoutConsent(call))
    }
  }

  function readAnswer(entry: EntryOf<'resolved'>): void {
    const wait = waits.get(entry.token)
    if (wait?.kind !== 'approval' || wait.callId === undefined || !isRecord(entry.value)) return
    const call = calls.get(wait.callId)
    call?.approvers.push(entry.by)
    if (entry.value['decision'] !== 'approve') return
    if (call) call.asked = false
    if (wait.deadline !== undefined && entry.at > wait.deadline + clockSkewMs)
      problems.push(problem('approval-expired', entry.id, 'The question had expired before it was approved.'))
  }

  const copied = log.findLastIndex(isCopyMark)
  for (const [index, entry] of log.entries()) {
    // The audit of the original covers what was copied. A copy lacks the questions and their answers.
    if (index === copied) {
      problems.length = 0
      for (const call of calls.values()) call.asked = false
    }
    if (entry.at < latest - clockSkewMs && !isBackwards) {
      isBackwards = true
      problems.push(problem('clock-backwards', entry.id, 'The entry is older than one before it.'))
    }
    if (entry.at > latest) latest = entry.at
    for (const { callId, toolName } of callsIn(entry))
      calls.set(callId, { callId, toolName, agent: entry.agent, decisions: [], approvers: [], asked: false })
    if (entry.type === 'call') readCall(entry)
    else if (entry.type === 'wait') {
      waits.set(entry.token, entry)
      if (entry.kind === 'approval' && entry.callId !== undefined && !entry.child) recordOf(entry.callId, entry)
    } else if (entry.type === 'resolved') readAnswer(entry)
  }
  return {
    problems: once(problems),
    calls: [...calls.values()].map(({ callId, toolName, agent, decisions, approvers, outcome }) => ({
      ...{ callId, toolName, agent, decisions, approvers },
      ...(outcome !== undefined && { outcome }),
    })),
  }
}

function withoutConsent({ callId, last, asked }: CallRecord): readonly AuditProblem[] {
  if (last === undefined) return [problem('call-undecided', callId, 'The call ran without a decision.')]
  if (last === 'proceed' && !asked) return []
  const why = last === 'proceed' ? 'was asked about and not approved' : `was decided as "${last}"`
  return [problem('ran-without-consent', callId, `The call ran, and ${why}.`)]
}

/** Removes repetitions: the start and the result of a call show the same fault. */
function once(problems: readonly AuditProblem[]): readonly AuditProblem[] {
  const seen = new Set<string>()
  return problems.filter(({ code, entry }) => {
    const key = `${code} ${entry}`
    return !seen.has(key) && seen.add(key)
  })
}
