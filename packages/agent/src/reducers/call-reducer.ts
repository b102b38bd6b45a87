import type { Entry, EntryOf, Message, ToolCallPart, ToolResultPart } from '@provost/core'
import { assertNever, deepFreeze, fillLabel, joinLabels, positionId, untrustedLabel } from '@provost/core'

import { labelOfResult } from '../messages/result-label.ts'
import { callOf } from '../state/session-state.ts'
import type { RunProgress, SessionState } from '../types/session-state.ts'
import { abandonChildren } from './child-reducer.ts'
import { recordCompositeAnswer, planNestedCall, parkChildren, waitsWithin } from './composite-reducer.ts'
import { appendMessage } from './message-reducer.ts'
import { closeWaits } from './wait-reducer.ts'

/** Applies an entry about a call. */
export function applyCall(state: SessionState, run: RunProgress, entry: Extract<Entry, { type: 'call' }>): void {
  if (entry.op === 'planned') return planNestedCall(run, entry)
  const call = callOf(run, entry.callId)
  if (!call) return
  switch (entry.op) {
    case 'deferred':
      if (call.stage !== 'planned' || run.openCalls === 1) break
      call.stage = 'deferred'
      run.deferred = call
      break
    case 'decided':
      call.args = entry.args
      if (entry.argsHash !== undefined) call.argsHash = entry.argsHash
      if (entry.outcome === 'ask') call.askedBy = entry.by
      call.decisions++
      if (entry.outcome === 'proceed') run.toolCallCount++
      if (entry.reason !== undefined) call.reason = entry.reason
      // `ask` is followed by its wait, `deny` and `result` by their `settled` entry.
      call.stage = entry.outcome === 'proceed' ? 'ready' : entry.outcome === 'ask' ? 'waiting' : 'answered'
      break
    case 'started':
      closeWaits(state, entry.callId, ({ kind, parks }) => kind === 'input' && !parks)
      call.stage = 'started'
      call.starts++
      call.startedAt = entry.at
      if (entry.effect) call.effect = entry.effect
      break
    case 'parked':
      // The last answer may have been recorded while the entry was on its way.
      if (call.stage === 'started' || call.stage === 'resumable')
        call.stage = waitsWithin(state, run, call) ? 'parked' : 'resumable'
      // A letter, too. The composite then looks once more.
      if (parkChildren(run, call)) call.stage = 'resumable'
      break
    case 'settled':
      if (call.stage === 'settled') break
      closeWaits(state, entry.callId, ({ kind }) => kind === 'input' || call.parentCallId !== undefined)
      if (run.children.size > 0) abandonChildren(state, run, entry.callId)
      call.stage = 'settled'
      call.outcome = entry.outcome
      if (call.parentCallId !== undefined) {
        call.settled = entry
        recordCompositeAnswer(run, call.parentCallId, entry.callId, labelOfResult(entry))
        break
      }
      call.result = resultPart(call.part, entry)
      if (--run.openCalls === 0) state.completedMessage = completeStep(state, run, entry)
      else if (run.openCalls === 1 && run.deferred?.stage === 'deferred') run.deferred.stage = 'planned'
      break
    default:
      assertNever(entry)
  }
}

function resultPart(part: ToolCallPart, entry: EntryOf<'call', 'settled'>): ToolResultPart {
  return {
    type: 'tool-result',
    callId: part.callId,
    toolCallId: part.toolCallId,
    toolName: part.toolName,
    output: entry.output,
    label: entry.label,
    ...(entry.fields && { fields: entry.fields }),
    ...(entry.details !== undefined && { details: entry.details }),
  }
}

/** Builds the tool message of a step, in the order of the calls, so that the log holds each result once. */
function completeStep(state: SessionState, run: RunProgress, entry: Entry): Message {
  const content: ToolResultPart[] = []
  let label = joinLabels()
  const used: string[] = []
  for (const { result, outcome } of run.calls.values()) {
    if (!result) continue
    if (outcome === 'ok' || outcome === 'error' || outcome === 'timeout') used.push(result.toolName)
    content.push(result)
    label = joinLabels(label, fillLabel(result.label, untrustedLabel(result.toolName)))
  }
  const message: Message = deepFreeze({
    id: positionId(run.id, run.step, 'message', 'tool'),
    role: 'tool',
    content,
    label,
    agent: entry.agent,
    createdAt: entry.at,
  })
  // Results of hidden calls are hidden too.
  if (state.hidden.has(state.messages.at(-1)?.id ?? '')) state.hidden.add(message.id)
  appendMessage(state, message)
  run.calls.clear()
  run.nestedCalls.clear()
  run.children.clear()
  run.usedTools = used
  return message
}
