import type { CallOutcome, ErrorInfo, Json, NewEntry, ToolOutput, ToolResult } from '@provost/core'
import { trustedLabel } from '@provost/core'

import { outputValue } from '../messages/output-value.ts'
import { hashJson, newEntry, placeOf } from '../state/entry.ts'
import { offsetOf } from '../state/session-state.ts'
import type { Place } from '../types/log.ts'
import type { Authorization } from '../types/loop.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import { approvalWait } from './wait-entries.ts'

/** A settled call beyond what hooks see of it. */
export interface Settling {
  readonly error?: ErrorInfo | undefined
  readonly durationMs?: number
}

/** A call that a composite makes. */
export function plannedEntry(
  state: SessionState,
  parent: CallState,
  callId: string,
  key: string,
  toolName: string,
  args: Json,
): NewEntry {
  const parentCallId = parent.part.callId
  return newEntry(placeOf(state), `${callId}/planned`, {
    type: 'call',
    op: 'planned',
    callId,
    parentCallId,
    key,
    toolName,
    args,
  })
}

/** The judgement of a call, and what follows from it at once. */
export function decidedEntries(state: SessionState, call: CallState, verdict: Authorization): readonly NewEntry[] {
  const place = placeOf(state)
  const { callId } = call.part
  const args = 'proceed' in verdict ? verdict.proceed : 'ask' in verdict ? (verdict.args ?? call.args) : call.args
  const decided = (outcome: 'proceed' | 'deny' | 'ask' | 'result', reason?: string): NewEntry =>
    newEntry(place, `${callId}/decided/${call.decisions + 1}`, {
      type: 'call',
      op: 'decided',
      callId,
      outcome,
      by: verdict.by ?? 'default',
      args,
      ...(outcome === 'ask' && { argsHash: hashJson(args) }),
      ...(reason !== undefined && { reason }),
    })
  if ('proceed' in verdict) return [decided('proceed')]
  if ('deny' in verdict) {
    const output: ToolOutput = { type: 'execution-denied', reason: verdict.deny }
    return [
      decided('deny', verdict.deny),
      settled(place, callId, 'denied', output, { code: verdict.code ?? 'tool-denied', message: verdict.deny }),
    ]
  }
  if ('result' in verdict)
    return [decided('result'), settledEntry(state, call, verdict.result, { error: verdict.error })]
  return [decided('ask', verdict.ask.reason), approvalWait(place, call, verdict)]
}

/**
 * Commits before the tool starts: after a crash it tells that the effect may have taken place.
 *
 * @param repeatable whether it would run again unasked then.
 */
export function startedEntry(state: SessionState, call: CallState, fence: number, repeatable = false): NewEntry {
  return newEntry(placeOf(state), `${call.part.callId}/started/${call.starts + 1}`, {
    type: 'call',
    op: 'started',
    callId: call.part.callId,
    ...(call.argsHash !== undefined && { argsHash: call.argsHash }),
    fence,
    ...(repeatable && { repeatable }),
  })
}

/** The result of a call. */
export function settledEntry(state: SessionState, call: CallState, result: ToolResult, more: Settling = {}): NewEntry {
  const { error, durationMs = 0 } = more
  // The model gets the output alone; a composite gets the value too.
  const told = call.parentCallId === undefined || result.value === outputValue(result.output)
  return newEntry(placeOf(state), `${call.part.callId}/settled`, {
    type: 'call',
    op: 'settled',
    callId: call.part.callId,
    outcome: result.outcome,
    via: result.via,
    output: result.output,
    ...(!told && result.value !== undefined && { value: result.value }),
    label: result.label,
    ...(result.fields && { fields: result.fields }),
    ...(result.details !== undefined && { details: result.details }),
    ...(error && { error }),
    durationMs,
  })
}

/** A call that will not run, with the reason for the model. */
export function unstartedEntry(
  state: SessionState,
  call: CallState,
  outcome: 'skipped' | 'aborted' | 'denied',
  reason: string,
): NewEntry {
  return settled(
    placeOf(state),
    call.part.callId,
    outcome,
    { type: 'error-text', value: reason },
    {
      code: `tool-${outcome}`,
      message: reason,
    },
  )
}

function settled(place: Place, callId: string, outcome: CallOutcome, output: ToolOutput, error: ErrorInfo): NewEntry {
  return newEntry(place, `${callId}/settled`, {
    type: 'call',
    op: 'settled',
    callId,
    outcome,
    via: 'log',
    output,
    // Our own words, and whatever a hook said.
    label: trustedLabel,
    error,
    durationMs: 0,
  })
}

/** Who decides what becomes of a call that a process died in, where its tool can look it up. */
export const lookedUpBy = 'lookup'

/** What a lookup said of a call that a process died in: it took no effect, and may run. */
export function notDoneEntry(state: SessionState, call: CallState): NewEntry {
  return lookedUp(state, call, 'proceed')
}

/** What a lookup said of a call that a process died in: it is done. */
export function foundEntry(state: SessionState, call: CallState): NewEntry {
  return lookedUp(state, call, 'result')
}

function lookedUp(state: SessionState, call: CallState, outcome: 'proceed' | 'result'): NewEntry {
  const { callId } = call.part
  return newEntry(placeOf(state), `${callId}/decided/${call.decisions + 1}`, {
    type: 'call',
    op: 'decided',
    callId,
    outcome,
    by: lookedUpBy,
    args: call.args,
  })
}

/** All that a composite has under way waits for somebody outside. It may come to that more than once. */
export function parkedEntry(state: SessionState, call: CallState): NewEntry {
  const { callId } = call.part
  return newEntry(placeOf(state), `${callId}/parked/${offsetOf(state)}`, { type: 'call', op: 'parked', callId })
}

/** What a composite has to know again after a crash. */
export function memoEntry(state: SessionState, call: CallState, key: string, value: Json): NewEntry {
  return newEntry(placeOf(state), `${key}/memo`, { type: 'memo', key, value, callId: call.part.callId })
}
