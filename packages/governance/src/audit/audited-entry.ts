import { hash as digest } from 'node:crypto'

import type { Entry, Json } from '@provost/core'
import { canonicalJson, isRecord, opensCalls, toJson } from '@provost/core'

import { policyName } from '../contracts/session-counters.ts'
import { anchorIn } from './audit-link.ts'

/** A call as a message of the model states it. */
export interface StatedCall {
  readonly callId: string
  readonly toolName: string
  readonly input: Json
}

/** Returns the calls that an entry makes: those of a message, or one of a composite. */
export function callsIn(entry: Entry): readonly StatedCall[] {
  if (entry.type === 'call' && entry.op === 'planned')
    return [{ callId: entry.callId, toolName: entry.toolName, input: entry.args }]
  // An export from outside may have anything in its fields.
  if (entry.type !== 'message' || !isRecord(entry.message) || !Array.isArray(entry.message.content)) return []
  if (!opensCalls(entry)) return []
  return entry.message.content.flatMap((part) =>
    part.type === 'tool-call' ? [{ callId: part.callId, toolName: part.toolName, input: part.input }] : [],
  )
}

/**
 * Whether the audit links an entry: calls, decisions, approvals, outcomes, contracts, children, handoffs, and starts and
 * ends of runs. Texts, usage and views are not linked.
 */
export function isAudited(entry: Entry): boolean {
  switch (entry.type) {
    case 'run':
    case 'audit':
    case 'wait':
    case 'resolved':
    case 'child':
    case 'handoff':
      return true
    case 'call':
      return entry.op !== 'deferred' && entry.op !== 'parked'
    case 'message':
      return callsIn(entry).length > 0
    case 'memo':
      // Contracts, counts of calls and confirmations.
      return typeof entry.key === 'string' && entry.key.startsWith(`${entry.runId}/${policyName}/`)
    case 'ext':
      return anchorIn(entry) !== undefined
    case 'attempt':
    case 'tail':
    case 'view':
      return false
    default:
      // A line that is no entry.
      entry satisfies never
      return false
  }
}

/** Whether the entries before this one are copies from another log: by a fork, or by an import from outside. */
export function isCopyMark(entry: Entry): boolean {
  return entry.type === 'ext' && entry.name === 'provost' && (entry.key === 'forked-from' || entry.key === 'left-out')
}

/** Returns the salted hash of what the audit states of an entry: all of it except its offset; of a message the calls. */
export function payloadOf(entry: Entry, salt: string): string {
  const { offset: _, ...content } = entry
  if (entry.type !== 'message') return saltedHash(content, salt)
  const { id, at, runId, step, agent, type, via } = entry
  return saltedHash({ id, at, runId, step, agent, type, via, calls: callsIn(entry) }, salt)
}

/** Returns the salted hash of a value. It does not depend on the order of keys. */
export function saltedHash(value: unknown, salt: string): string {
  return digest('sha256', JSON.stringify([salt, canonicalJson(toJson(value))]), 'base64url')
}

/** Returns the arguments that an approver wrote in place of those that were shown. */
export function editedArgs(entry: Entry): Json | undefined {
  if (entry.type !== 'resolved' || !isRecord(entry.value)) return undefined
  const args = entry.value['args']
  return entry.value['decision'] === 'approve' && args !== undefined ? toJson(args) : undefined
}
