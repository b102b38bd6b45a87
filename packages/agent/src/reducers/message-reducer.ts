import type { EntryOf, Message } from '@provost/core'
import { fillLabel, joinLabels, labelOf, messageOfEntry, opensCalls, purposeOf, untrustedLabel } from '@provost/core'

import type { RunProgress, SessionState } from '../types/session-state.ts'

/** Applies a message of any author. */
export function applyMessage(state: SessionState, entry: EntryOf<'message'>): void {
  const { message, via } = entry
  if (message.role === 'system') {
    const prelude = state.systemMessages.get(entry.agent)
    if (prelude) prelude.push(message)
    else state.systemMessages.set(entry.agent, [message])
    // A system prompt comes first: the view changes from its start.
    state.viewVersion++
    state.viewLabel = joinLabels(state.viewLabel, labelOf(message))
    return
  }
  const { run } = state
  if (via === 'model' && run) {
    // A step with an answer is over, even if the log has no attempt of it.
    run.step = Math.max(run.step, entry.step)
    if (entry.unsaid) state.hidden.add(message.id)
    if (entry.held === undefined) applyAnswer(state, run, message)
    else run.unapprovedAnswer = { message, token: entry.held }
    return
  }
  const said = messageOfEntry(entry)
  appendMessage(state, said)
  // Input from outside in the human's place does not count as the human's own.
  const own =
    message.role === 'user' &&
    said.purpose === undefined &&
    via !== 'system' &&
    !(run?.isChild && via === 'input') &&
    message.label?.integrity !== 'untrusted'
  if (own) state.userMessages.push(message)
  if (!run) return
  if (purposeOf(entry) === 'output-repair') run.outputRepairs++
  run.answer = undefined
  if (!opensCalls(entry) || entry.runId !== run.id) return
  run.step = Math.max(run.step, entry.step)
  openCalls(run, message, true)
}

/** Applies an answer of the model: its calls are open, or the run may end with it. */
export function applyAnswer(state: SessionState, run: RunProgress, message: Message): void {
  if (!isSilent(message)) appendMessage(state, message)
  run.attempts = 0
  run.answer = undefined
  if (message.role !== 'assistant') return
  run.usedTools = undefined
  if (run.lastAttempt) state.modelNames.set(message, run.lastAttempt.model)
  openCalls(run, message)
  if (run.openCalls === 0) run.answer = message
}

/** Whether an answer is empty. The log keeps it; providers reject it in a history. */
export function isSilent({ role, content }: Message): boolean {
  return role === 'assistant' && content.every((part) => part.type === 'text' && part.text === '')
}

/** Adds a message to the history and to the view. */
export function appendMessage(state: SessionState, message: Message): void {
  state.messages.push(message)
  state.view.push(message)
  state.viewLabel = joinLabels(state.viewLabel, labelOf(message))
}

/**
 * Opens the calls of a message. The log of a loop elsewhere learns of the calls of a step one by one: while calls are
 * open, further ones join them.
 */
function openCalls(run: RunProgress, message: Message, isOrchestrators = false): void {
  if (run.openCalls === 0 || isOrchestrators) {
    run.calls.clear()
    run.nestedCalls.clear()
    run.deferred = undefined
    run.children.clear()
  }
  const label = message.label ? fillLabel(message.label, untrustedLabel('assistant')) : labelOf(message)
  for (const part of message.content) {
    if (part.type !== 'tool-call' || part.providerExecuted) continue
    run.calls.set(part.callId, {
      part,
      label: part.label ? joinLabels(label, fillLabel(part.label, label)) : label,
      stage: 'planned',
      args: part.input,
      decisions: 0,
      starts: 0,
      startedAt: 0,
      ...(isOrchestrators && { isOrchestrators }),
    })
  }
  run.openCalls = 0
  for (const { stage } of run.calls.values()) if (stage !== 'settled') run.openCalls++
}
