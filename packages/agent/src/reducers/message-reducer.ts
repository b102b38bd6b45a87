import type { EntryOf, Message } from '@provost/core'
import { fillLabel, joinLabels, labelOf, positionId, untrustedLabel } from '@provost/core'

import type { RunProgress, SessionState } from '../types/session-state.ts'

/** Something was said, by whomever. */
export function applyMessage(state: SessionState, entry: EntryOf<'message'>): void {
  const { message, via } = entry
  if (message.role === 'system') {
    const prelude = state.preludes.get(entry.agent)
    if (prelude) prelude.push(message)
    else state.preludes.set(entry.agent, [message])
    // A system prompt stands in front: the view changes from its start.
    state.viewVersion++
    state.viewLabel = joinLabels(state.viewLabel, labelOf(message))
    return
  }
  const { run } = state
  if (via === 'model' && run) {
    // A step that was spoken in is over, even where no attempt at it stands in the log.
    run.step = Math.max(run.step, entry.step)
    if (entry.unsaid) state.unsaid.add(message.id)
    if (entry.held === undefined) applyAnswer(state, run, message)
    else run.candidate = { message, token: entry.held }
    return
  }
  appendMessage(state, message)
  // What comes from outside in the human's place is not the human's word.
  const own =
    message.role === 'user' &&
    via !== 'system' &&
    !(run?.isChild && via === 'input') &&
    message.label?.integrity !== 'untrusted'
  if (own) state.intent.push(message)
  if (!run) return
  if (message.id === positionId(run.id, entry.step, 'message', 'output')) run.repairs++
  run.answer = undefined
}

/** An answer of the model counts: its calls are to be seen to, or the run may end with it. */
export function applyAnswer(state: SessionState, run: RunProgress, message: Message): void {
  if (!isSilent(message)) appendMessage(state, message)
  run.attempts = 0
  run.answer = undefined
  if (message.role !== 'assistant') return
  run.used = undefined
  if (run.lastAttempt) state.writers.set(message, run.lastAttempt.model)
  openCalls(run, message)
  if (run.openCalls === 0) run.answer = message
}

/** Some models end without a word. The log tells of it; in a history that goes to a model it would be refused. */
export function isSilent({ role, content }: Message): boolean {
  return role === 'assistant' && content.every((part) => part.type === 'text' && part.text === '')
}

/** Adds to what was said and to what is sent. */
export function appendMessage(state: SessionState, message: Message): void {
  state.messages.push(message)
  state.view.push(message)
  state.viewLabel = joinLabels(state.viewLabel, labelOf(message))
}

function openCalls(run: RunProgress, message: Message): void {
  run.calls.clear()
  run.bridged.clear()
  run.deferred = undefined
  run.children.clear()
  const label = message.label ? fillLabel(message.label, untrustedLabel('assistant')) : labelOf(message)
  for (const part of message.content) {
    if (part.type !== 'tool-call' || part.providerExecuted) continue
    run.calls.set(part.callId, {
      part,
      label: joinLabels(label, part.label ? fillLabel(part.label, label) : label),
      stage: 'planned',
      args: part.input,
      decisions: 0,
      starts: 0,
      startedAt: 0,
    })
  }
  run.openCalls = run.calls.size
}
