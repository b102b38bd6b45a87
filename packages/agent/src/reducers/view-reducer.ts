import type { EntryOf, Message } from '@provost/core'
import { joinLabels, labelOf, messagesOfView } from '@provost/core'

import { openingView, viewAtStep } from '../messages/transferred-context.ts'
import type { SessionState } from '../types/session-state.ts'

/** Applies a cut of the view, or an addition at its end. */
export function applyView(state: SessionState, entry: EntryOf<'view'>): void {
  const added = messagesOfView(entry)
  if (entry.from === '' && entry.to === '') {
    // An addition at the end: earlier messages stay as they are.
    for (const message of added) {
      state.view.push(message)
      state.viewLabel = joinLabels(state.viewLabel, labelOf(message))
    }
    return
  }
  const from = state.view.findIndex((message) => message.id === entry.from)
  const to = state.view.findIndex((message) => message.id === entry.to)
  if (from < 0 || to < from) return
  const cut = state.view.slice(from, to + 1)
  // Not spread: a long view has more messages than a call takes arguments.
  const rest = state.view.splice(from)
  for (const message of added) state.view.push(message)
  for (const message of rest.slice(cut.length)) state.view.push(message)
  keepModelNames(state, cut, added)
  state.viewVersion++
  const sent = [...state.systemMessages.values(), state.view].flat()
  state.viewLabel = joinLabels(...sent.map(labelOf))
}

/** Applies a handoff: the target takes over, or returns an answer. */
export function applyHandoff(state: SessionState, entry: EntryOf<'handoff'>): void {
  const { run, view, modelNames, handoffPath } = state
  if (entry.denied !== undefined) return
  if (entry.mode === 'return') {
    const call = entry.callId === undefined ? undefined : run?.calls.get(entry.callId)
    if (!run || !call) return
    run.returnHandoffs++
    call.returnHandoff = { entry, messages: openingView(entry, viewAtStep(state)) }
    return
  }
  state.agent = entry.to
  if (!handoffPath.includes(entry.to)) handoffPath.push(entry.to)
  if (entry.manifest) state.requiredExtensions.set(entry.to, entry.manifest.extensions)
  if (run) {
    run.agents.push(entry.to)
    run.handoffCount++
    // Ephemeral messages for the caller do not apply to the target.
    run.ephemeralMessages.length = 0
    run.usedTools = undefined
  }
  const written = new Map(view.map((message) => [message.id, modelNames.get(message)]))
  const crossed = openingView(entry, view)
  for (const message of crossed) {
    const writer = written.get(message.id)
    if (writer !== undefined) modelNames.set(message, writer)
  }
  view.length = 0
  for (const message of crossed) view.push(message)
  state.viewVersion++
  state.viewLabel = joinLabels(...[...(state.systemMessages.get(state.agent) ?? []), ...view].map(labelOf))
}

/** Keeps the model of each message that remains in the view under its id. */
function keepModelNames({ modelNames }: SessionState, cut: readonly Message[], kept: readonly Message[]): void {
  const known = new Map(cut.map((message) => [message.id, modelNames.get(message)]))
  for (const message of kept) {
    const writer = known.get(message.id)
    if (writer !== undefined) modelNames.set(message, writer)
  }
}
