import type { MaybePromise, Message, MessageInit, ViewEdit } from '@provost/core'
import { ProvostError, deepFreeze, fillLabel, labelOf, positionId } from '@provost/core'

import { runHooks } from '../hooks/run-hooks.ts'
import { messageOf, partsOf } from '../messages/message.ts'
import { newEntry } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'

/**
 * Lets the `context` hooks shorten the view before a model call. All messages stay in the log.
 *
 * @throws RunEnding when a hook stops the run, fails, or requests an edit that would break the history.
 */
export function cutView(ctx: RunContext, place: EntryContext): MaybePromise<void> {
  return runHooks(ctx, 'context', undefined, {
    call: (hook, hookContext) => hook(hookContext.view, hookContext),
    answered: (edit, _, by) => applyEdit(ctx, place, edit, by.name),
  })
}

async function applyEdit(ctx: RunContext, place: EntryContext, edit: ViewEdit, by: string): Promise<undefined> {
  const { view } = ctx.state
  const from = view.findIndex((message) => message.id === edit.from)
  const to = view.findIndex((message) => message.id === edit.to)
  if (from < 0 || to < from) {
    throw new ProvostError('invalid-view-edit', `The view has no range from ${edit.from} to ${edit.to}.`, {
      hint: 'Give ids of ctx.view.messages as "from" and "to", in the order of the view.',
    })
  }
  const cut = view.slice(from, to + 1)
  const key = positionId(place.runId, place.step, `view/${by}`, ctx.state.offset)
  const label = ctx.state.viewLabel
  const known = new Map(cut.map((message) => [message.id, message]))
  const purpose = edit.compacted ? 'summary' : 'edit'
  const messages = edit.with.map((init, index) => {
    const old = 'id' in init ? known.get(init.id) : undefined
    if (!old) return messageOf(init, place.clock, `${key}/${index}`, label, place.agent, purpose)
    // Each old message may return once: message ids are unique.
    known.delete(old.id)
    return old === init ? old : rewritten(old, init)
  })
  const [before, after] = [orphanedIds(cut), orphanedIds(messages)]
  const torn = before.find((callId) => !after.includes(callId))
  if (torn !== undefined) {
    throw new ProvostError('orphaned-tool-result', `The edit would separate call ${torn} from its result.`, {
      hint: 'Cut before the assistant message with the call, or after the tool message with the result.',
    })
  }
  const turns = view.slice(0, from).some(isTurn) || messages.some(isTurn) || view.slice(to + 1).some(isTurn)
  if (after.length > before.length || messages.some(({ role }) => role === 'system') || !turns) {
    throw new ProvostError('invalid-view-edit', 'The edit would leave a malformed history.', {
      hint: 'Insert only user and assistant messages and complete pairs of call and result. Keep at least one user message.',
    })
  }
  const { from: first, to: last, compacted } = edit
  const reason = compacted || ctx.viewTrigger !== 'step' ? 'compaction' : 'edit'
  await ctx.logWriter.append([
    newEntry(place, key, {
      type: 'view',
      from: first,
      to: last,
      with: messages,
      reason,
      ...(compacted && { compacted }),
    }),
  ])
}

function isTurn({ role }: Message): boolean {
  return role === 'user'
}

/** Returns a message with new content. Without a label it keeps its own, so that shortening does not raise trust. */
function rewritten(old: Message, { content, label }: MessageInit): Message {
  return deepFreeze({ ...old, content: partsOf(content), label: fillLabel(label, labelOf(old)) })
}

/** Returns the ids of calls without a result and of results without a call in a range of messages, in order. */
function orphanedIds(messages: readonly Message[]): readonly string[] {
  const open = new Set<string>()
  const orphans: string[] = []
  for (const { role, content } of messages) {
    for (const part of content) {
      if (part.type === 'tool-call' && !part.providerExecuted) open.add(part.callId)
      else if (part.type === 'tool-result' && role === 'tool' && !open.delete(part.callId)) orphans.push(part.callId)
    }
  }
  return [...orphans, ...open]
}
