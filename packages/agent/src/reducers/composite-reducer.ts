import type { EntryOf, Json, Label } from '@provost/core'
import { joinLabels } from '@provost/core'

import { callOf, outermost } from '../state/session-state.ts'
import type { CallState, ChildState, CompositeState, RunProgress, SessionState } from '../types/session-state.ts'

/** Adds a call that a composite makes. It carries the label of everything that the composite had received. */
export function planNestedCall(run: RunProgress, entry: EntryOf<'call', 'planned'>): void {
  const { callId, parentCallId, toolName, args, flow } = entry
  const parent = callOf(run, parentCallId)
  if (!parent || run.nestedCalls.has(callId)) return
  run.nestedCalls.set(callId, {
    part: { type: 'tool-call', callId, toolCallId: callId, toolName, input: args },
    label: parent.composite ? joinLabels(parent.label, parent.composite.label) : parent.label,
    stage: 'planned',
    args,
    decisions: 0,
    starts: 0,
    startedAt: 0,
    parentCallId,
    ...(flow && { flow }),
  })
}

/** Returns the answers of a composite; empty before the first one. */
export function compositeStateOf(call: CallState): CompositeState {
  return (call.composite ??= { answerIds: [], answerOrder: new Map(), waitAnswers: new Map(), label: joinLabels() })
}

/** Records an answer for a composite: to a call, a memo or a wait. */
export function recordCompositeAnswer(
  run: RunProgress,
  callId: string,
  id: string,
  label?: Label,
  value?: { readonly given: Json | undefined },
): void {
  const composite = callOf(run, callId)
  if (!composite) return
  const state = compositeStateOf(composite)
  if (state.answerOrder.has(id)) return
  state.answerOrder.set(id, state.answerIds.length)
  state.answerIds.push(id)
  if (value) state.waitAnswers.set(id, value.given)
  if (label) state.label = joinLabels(state.label, label)
}

/** Whether something within a call of the model waits for an answer from outside. */
export function waitsWithin({ waits }: SessionState, run: RunProgress, top: CallState): boolean {
  for (const { callId, child } of waits.values()) {
    const owner = child ? run.children.get(child.callId)?.parentCallId : callId
    const call = owner === undefined ? undefined : callOf(run, owner)
    if (call && outermost(run, call) === top) return true
  }
  return childrenElsewhere(run, top).length > 0
}

/** Returns the open children elsewhere of a call of the model, and of the calls within it. */
function childrenElsewhere(run: RunProgress, top: CallState): readonly ChildState[] {
  return [...run.children.values()].filter(({ where, completion, parentCallId }) => {
    const call = where === 'any' && !completion && callOf(run, parentCallId)
    return call && outermost(run, call) === top
  })
}

/** Parks the children elsewhere of a call. @returns whether one of them has written since the call was parked before. */
export function parkChildren(run: RunProgress, top: CallState): boolean {
  let isNew = false
  for (const child of childrenElsewhere(run, top)) {
    isNew ||= child.hasNews
    child.hasNews = false
    child.isCreated = true
  }
  return isNew
}

/** Resumes a parked composite that has received something it waits for. */
export function resumeComposite(run: RunProgress, call: CallState): void {
  const top = outermost(run, call)
  if (top.stage === 'parked') top.stage = 'resumable'
}
