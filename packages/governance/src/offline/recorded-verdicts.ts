import type { SessionState } from '@provost/agent'
import { callOf, clock, readVerdict } from '@provost/agent/internal'
import type { Entry, EntryOf, Json } from '@provost/core'
import { isRecord } from '@provost/core'

import { policyName } from '../contracts/session-counters.ts'
import type { HumanAnswer, OfflineVerdict } from './judged-call.ts'

/** What a log records about the authorization of one call. */
export interface RecordedCall {
  readonly decided: EntryOf<'call', 'decided'>
  readonly verdict: OfflineVerdict
  readonly human?: HumanAnswer
  readonly ran: boolean
  /** The hash of the tool's definition, where a human was asked. */
  readonly definition?: string
  /** It was decided after the other calls of its step. */
  readonly deferred: boolean
}

/** Deciders that reject a call before any policy receives it, or after it. */
const otherDeciders: ReadonlySet<string> = new Set(['registry', 'schema', 'steer'])

/** Returns what a log records about its calls, by call id. Calls that no hook received are left out. */
export function recordedCalls(entries: readonly Entry[]): ReadonlyMap<string, RecordedCall> {
  const first = new Map<string, EntryOf<'call', 'decided'>>()
  const rows = new Map<string, EntryOf<'audit'>>()
  const waits = new Map<string, string>()
  const definitions = new Map<string, string>()
  const answers = new Map<string, HumanAnswer>()
  const started = new Set<string>()
  const deferred = new Set<string>()
  for (const entry of entries) {
    if (entry.type === 'call' && entry.op === 'decided') {
      if (!first.has(entry.callId)) first.set(entry.callId, entry)
    } else if (entry.type === 'call' && entry.op === 'started') started.add(entry.callId)
    else if (entry.type === 'call' && entry.op === 'deferred') deferred.add(entry.callId)
    else if (entry.type === 'audit') {
      const { callId, by } = entry
      if (by === policyName && callId !== undefined && !rows.has(callId)) rows.set(callId, entry)
    } else if (entry.type === 'wait') {
      const { kind, token, callId, child, about } = entry
      if (kind !== 'approval' || callId === undefined || child) continue
      waits.set(token, callId)
      if (about?.definitionHash !== undefined) definitions.set(callId, about.definitionHash)
    } else if (entry.type === 'resolved') {
      const callId = waits.get(entry.token)
      if (callId !== undefined && entry.by !== clock) answers.set(callId, answerOf(entry))
    }
  }
  const calls = new Map<string, RecordedCall>()
  for (const [callId, decided] of first) {
    if (otherDeciders.has(decided.by)) continue
    const human = answers.get(callId)
    const verdict = verdictOf(rows.get(callId))
    const definition = definitions.get(callId)
    const asked = { ...(human && { human }), ...(definition !== undefined && { definition }) }
    calls.set(callId, { decided, verdict, ran: started.has(callId), deferred: deferred.has(callId), ...asked })
  }
  return calls
}

function answerOf(entry: EntryOf<'resolved'>): HumanAnswer {
  const { decision, by = entry.by, args } = readVerdict(entry)
  return { decision, by, ...(decision === 'approve' && args !== undefined && { edited: true }) }
}

/** Returns the verdict that a row of the policy records; without a row the policy had no objection. */
function verdictOf(row: EntryOf<'audit'> | undefined): OfflineVerdict {
  if (!row) return { decision: 'allow' }
  const { decision, rule, evidence } = row
  return verdictIn({ decision, rule, evidence })
}

/** Returns the verdict in an audit row of the policy, of the log or of an offline judgement. */
export function verdictIn(row: {
  readonly decision: EntryOf<'audit'>['decision']
  readonly rule: string
  readonly evidence: Json
}): OfflineVerdict {
  const { decision, rule, evidence } = row
  const said = isRecord(evidence) ? evidence : {}
  const reason = typeof said['reason'] === 'string' ? said['reason'] : undefined
  const more = { rule, ...(reason !== undefined && { reason }), evidence }
  if (decision === 'declassified' && said['by'] === 'declassifySinks') return { decision: 'allow', ...more }
  if (decision === 'blocked') return { decision: 'deny', ...more }
  return { decision: said['decision'] === 'deny' ? 'deny' : 'ask', ...more }
}

/** Returns the id of the call that an entry shows to be under judgement: its first such entry precedes the verdict. */
export function callUnderJudgement(entry: Entry): string | undefined {
  if (entry.type === 'call' && entry.op === 'decided') return entry.callId
  if (entry.type === 'audit' && entry.by === policyName) return entry.callId
  return entry.type === 'memo' ? callInCounters(entry.key) : undefined
}

/** Returns the part of a memo's key after the name of the policy. */
function ownKey(key: string): string {
  const own = key.indexOf(`/${policyName}/`)
  return own < 0 ? '' : key.slice(own + policyName.length + 2)
}

/** Returns the call that a memo of the policy counts, towards its contract or in counters of rules. */
function callInCounters(key: string): string | undefined {
  const rest = ownKey(key)
  return rest.startsWith('counters/') ? rest.slice('counters/'.length, rest.lastIndexOf('/')) : undefined
}

/** Returns the call whose amounts an entry adds to counters of rules. */
export function callInCountersOf(entry: Entry): string | undefined {
  return entry.type === 'memo' ? callInCounters(entry.key) : undefined
}

/** Returns whether an entry has a contract or an intent, which are made again with `rederive`. */
export function isDerived(entry: Entry): boolean {
  if (entry.type !== 'memo') return false
  return ['contract', 'part', 'intent'].some((kind) => entry.key.includes(`/${policyName}/${kind}/`))
}

/** Returns the state of a call of the present step. */
export function openCall(state: SessionState, callId: string): ReturnType<typeof callOf> {
  return state.run && callOf(state.run, callId)
}
