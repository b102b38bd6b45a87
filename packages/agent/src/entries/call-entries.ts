import type {
  CallFlow,
  CallOutcome,
  EffectMark,
  EffectStatus,
  ErrorInfo,
  Json,
  NewEntry,
  Tool,
  ToolOutput,
  ToolResult,
} from '@provost/core'
import { trustedLabel } from '@provost/core'

import { outputValue } from '../messages/output-value.ts'
import { hashJson, newEntry, placeOf } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { Authorization } from '../types/loop.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import { approvalWait } from './wait-entries.ts'

/** Data of a settled call that hooks do not see. */
export interface SettledDetails {
  readonly error?: ErrorInfo | undefined
  readonly durationMs?: number
  /** The call ended without an answer, and may have taken effect. */
  readonly unknown?: true | undefined
  /** The state of its effect, where the ledger of effects has one. */
  readonly effectStatus?: EffectStatus | undefined
  /** The value is recorded although the output contains it: a compensation needs the complete result. */
  readonly keepsValue?: boolean
}

/** Whether the log keeps the value of each result, because `compensate` receives it. */
export function keepsValue(tool: Tool | undefined): boolean {
  return tool?.['~tool'].compensate !== undefined
}

/** Returns the entry for a call that a composite makes. */
export function plannedEntry(
  state: SessionState,
  parent: CallState,
  callId: string,
  key: string,
  toolName: string,
  args: Json,
  flow?: CallFlow,
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
    ...(flow && { flow }),
  })
}

/**
 * Returns the entries for the authorization of a call and its direct consequences.
 *
 * @param batch where it is asked about together with others.
 */
export function decidedEntries(
  state: SessionState,
  call: CallState,
  verdict: Authorization,
  batch?: string,
): readonly NewEntry[] {
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
    return [
      decided('result'),
      settledEntry(state, call, verdict.result, { error: verdict.error, effectStatus: verdict.effectStatus }),
    ]
  return [decided('ask', verdict.ask.reason), approvalWait(place, call, verdict, batch)]
}

/**
 * Returns the entry that commits before the tool starts: after a crash it shows that the effect may have taken place.
 *
 * @param repeatable whether the call may then run again without a question.
 * @param effect where the ledger of effects admitted the call.
 */
export function startedEntry(
  state: SessionState,
  call: CallState,
  fence: number,
  repeatable = false,
  announces: readonly CallState[] = [],
  effect?: EffectMark,
): NewEntry {
  return newEntry(placeOf(state), `${call.part.callId}/started/${call.starts + 1}`, {
    type: 'call',
    op: 'started',
    callId: call.part.callId,
    ...(call.argsHash !== undefined && { argsHash: call.argsHash }),
    fence,
    ...(repeatable && { repeatable }),
    ...(announces.length > 0 && { announces: announces.map(({ part }) => part.callId) }),
    ...(effect && { effect }),
  })
}

/** Returns the entry for the result of a call. */
export function settledEntry(
  state: SessionState,
  call: CallState,
  result: ToolResult,
  more: SettledDetails = {},
): NewEntry {
  const { error, durationMs = 0, unknown, effectStatus } = more
  // The model receives only the output; a composite, an orchestrator and a compensation also receive the value.
  const isModels = call.parentCallId === undefined && !call.isOrchestrators
  const isRedundant = !more.keepsValue && (isModels || result.value === outputValue(result.output))
  return newEntry(placeOf(state), `${call.part.callId}/settled`, {
    type: 'call',
    op: 'settled',
    callId: call.part.callId,
    outcome: result.outcome,
    via: result.via,
    output: result.output,
    ...(!isRedundant && result.value !== undefined && { value: result.value }),
    label: result.label,
    ...(result.fields && { fields: result.fields }),
    ...(result.details !== undefined && { details: result.details }),
    ...(error && { error }),
    ...(unknown && { unknown }),
    ...(effectStatus && { effectStatus }),
    durationMs,
  })
}

/** Returns the entry for a call that will not run, with the reason for the model. */
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

function settled(
  place: EntryContext,
  callId: string,
  outcome: CallOutcome,
  output: ToolOutput,
  error: ErrorInfo,
): NewEntry {
  return newEntry(place, `${callId}/settled`, {
    type: 'call',
    op: 'settled',
    callId,
    outcome,
    via: 'log',
    output,
    // The text is the runtime's own, or a hook's.
    label: trustedLabel,
    error,
    durationMs: 0,
  })
}

/** The `by` of a lookup that decides about a call whose process died. */
export const lookedUpBy = 'lookup'

/** Returns the entry for a lookup that found no effect of a call whose process died: it may run. */
export function notDoneEntry(state: SessionState, call: CallState): NewEntry {
  return lookedUp(state, call, 'proceed')
}

/** Returns the entry for a lookup that found a call whose process died to be done. */
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

/** Returns the entry for a composite whose operations all wait for outside input. This may happen more than once. */
export function parkedEntry(state: SessionState, call: CallState): NewEntry {
  const { callId } = call.part
  return newEntry(placeOf(state), `${callId}/parked/${state.offset}`, { type: 'call', op: 'parked', callId })
}

/** Returns the entry for a value that a composite needs again after a crash. */
export function memoEntry(state: SessionState, call: CallState, key: string, value: Json): NewEntry {
  return newEntry(placeOf(state), `${key}/memo`, { type: 'memo', key, value, callId: call.part.callId })
}
