import type { EntryOf, Json, Label } from '@provost/core'
import { joinLabels } from '@provost/core'

import { callOf, outermost } from '../state/session-state.ts'
import type { CallState, CompositeState, RunProgress } from '../types/session-state.ts'

/** Adds a call that a composite makes. It carries the label of everything that the composite had received. */
export function planNestedCall(run: RunProgress, entry: EntryOf<'call', 'planned'>): void {
  const { callId, parentCallId, toolName, args } = entry
  const parent = callOf(run, parentCallId)
  if (!parent || run.bridged.has(callId)) return
  run.bridged.set(callId, {
    part: { type: 'tool-call', callId, toolCallId: callId, toolName, input: args },
    label: parent.bridge ? joinLabels(parent.label, parent.bridge.label) : parent.label,
    stage: 'planned',
    args,
    decisions: 0,
    starts: 0,
    startedAt: 0,
    parentCallId,
  })
}

/** Returns the answers of a composite; empty before the first one. */
export function bridgeOf(call: CallState): CompositeState {
  return (call.bridge ??= { answers: [], orders: new Map(), given: new Map(), label: joinLabels() })
}

/** Records an answer for a composite: to a call, a memo or a wait. */
export function answerBridge(
  run: RunProgress,
  callId: string,
  id: string,
  label?: Label,
  value?: { readonly given: Json | undefined },
): void {
  const composite = callOf(run, callId)
  if (!composite) return
  const bridge = bridgeOf(composite)
  if (bridge.orders.has(id)) return
  bridge.orders.set(id, bridge.answers.length)
  bridge.answers.push(id)
  if (value) bridge.given.set(id, value.given)
  if (label) bridge.label = joinLabels(bridge.label, label)
}

/** Resumes a parked composite that has received something it waits for. */
export function wakeComposite(run: RunProgress, call: CallState): void {
  const top = outermost(run, call)
  if (top.stage === 'parked') top.stage = 'woken'
}
