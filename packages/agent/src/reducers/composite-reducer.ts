import type { EntryOf, Json, Label } from '@provost/core'
import { joinLabels } from '@provost/core'

import { callOf, outermost } from '../state/session-state.ts'
import type { CallState, CompositeState, RunProgress } from '../types/session-state.ts'

/** A call that a composite makes: it carries what its maker had been told until then. */
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

/** What a composite has been answered; empty before the first answer. */
export function bridgeOf(call: CallState): CompositeState {
  return (call.bridge ??= { answers: [], orders: new Map(), given: new Map(), label: joinLabels() })
}

/** A composite is answered: to a call, a memo or a wait. */
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

/** What a composite waits for has come: it goes on. */
export function wakeComposite(run: RunProgress, call: CallState): void {
  const top = outermost(run, call)
  if (top.stage === 'parked') top.stage = 'woken'
}
