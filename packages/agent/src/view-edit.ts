import type { Message, ViewEdit } from '@provost/core'
import { positionId, ProvostError } from '@provost/core'

import type { Place } from './entry.ts'
import { newEntry } from './entry.ts'
import { offsetOf } from './log-state.ts'
import { messageOf } from './message-init.ts'
import { hookFailed } from './run-scope.ts'
import type { RunScope } from './run-scope.ts'

/**
 * Lets the `context` hooks cut the view before a model call. What was said stays in the log.
 *
 * @throws RunEnding when a hook fails, or asks for a cut that would tear the history.
 */
export async function cutView(scope: RunScope, place: Place): Promise<void> {
  for (const { extension, hook } of scope.plan.hooks.context) {
    const ctx = scope.contextFor(extension)
    try {
      const edit = await hook(ctx.view, ctx)
      if (edit) await applyEdit(scope, place, edit, extension.name)
    } catch (thrown) {
      throw hookFailed(scope, extension.name, 'context', thrown)
    }
  }
}

async function applyEdit(scope: RunScope, place: Place, edit: ViewEdit, by: string): Promise<void> {
  const { view } = scope.state
  const from = view.findIndex((message) => message.id === edit.from)
  const to = view.findIndex((message) => message.id === edit.to)
  if (from < 0 || to < from) {
    throw new ProvostError('invalid-view-edit', `There is no stretch from ${edit.from} to ${edit.to} in the view.`, {
      hint: 'Use ids of ctx.view.messages, the first one first.',
    })
  }
  const cut = view.slice(from, to + 1)
  const torn = tornCall(cut)
  if (torn !== undefined) {
    throw new ProvostError('split-pair', `The edit would part call ${torn} from its result.`, {
      hint: 'Cut before the assistant message that holds the call, or behind the tool message that holds the result.',
    })
  }
  const key = positionId(place.runId, place.step, `view/${by}`, offsetOf(scope.state))
  const label = scope.state.viewLabel
  const messages = edit.with.map((init, index) => messageOf(init, `${key}/${index}`, label, place.agent))
  const rest = [...view.slice(0, from), ...messages, ...view.slice(to + 1)]
  if (tornCall(messages) !== undefined || messages.some(({ role }) => role === 'system') || !rest.some(isTurn)) {
    throw new ProvostError('invalid-view-edit', 'What the edit puts in would not leave a well-formed history.', {
      hint: 'Put in user and assistant messages, whole pairs of call and result, and leave a turn of the user.',
    })
  }
  const { from: first, to: last } = edit
  const reason = scope.trigger === 'step' ? 'edit' : 'compaction'
  await scope.journal.append([newEntry(place, key, { type: 'view', from: first, to: last, with: messages, reason })])
}

function isTurn({ role }: Message): boolean {
  return role === 'user'
}

/** The first call in a stretch of messages whose result is outside it, or the other way round. */
export function tornCall(messages: readonly Message[]): string | undefined {
  const open = new Set<string>()
  for (const message of messages) {
    for (const part of message.content) {
      if (part.type === 'tool-call' && !part.providerExecuted) open.add(part.callId)
      else if (part.type === 'tool-result' && message.role === 'tool' && !open.delete(part.callId)) return part.callId
    }
  }
  return open.values().next().value
}
