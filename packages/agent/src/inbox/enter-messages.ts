import type { Label, Message, MessageInit, NewEntry } from '@provost/core'
import { joinLabels, labelOf } from '@provost/core'

import { hookFailed, stopped } from '../control/run-ending.ts'
import { knowing } from '../hooks/hook-context.ts'
import { inHookTime } from '../hooks/hook-time.ts'
import { messageOf } from '../messages/message.ts'
import { newEntry } from '../state/entry.ts'
import type { Place } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'

/**
 * Returns the entries by which messages enter a run, after the `input` hooks have processed each.
 *
 * @param key prefix for the ids of the entries.
 * @throws RunEnding when a hook stops the run or fails.
 */
export async function enterMessages(
  scope: RunContext,
  messages: readonly Message[],
  via: 'input' | 'steer' | 'queue',
  place: Place,
  key: string,
): Promise<readonly NewEntry[]> {
  const entries: NewEntry[] = []
  for (const message of messages) {
    const { entered, tail } = await throughHooks(scope, message)
    // A message id may come from outside, so the entry id does not use it.
    const id = `${key}/entry/${entries.length}`
    entries.push(newEntry(place, id, { type: 'message', message: entered, via }))
    if (tail.length > 0) {
      const { label } = tailMessages(tail, entered.id)
      entries.push(newEntry(place, `${id}/tail`, { type: 'tail', hash: '', label, with: tail }))
    }
  }
  return entries
}

async function throughHooks(
  scope: RunContext,
  message: Message,
): Promise<{ entered: Message; tail: readonly MessageInit[] }> {
  let entered = message
  const tail: MessageInit[] = []
  for (const { extension, hook } of scope.plan.hooks.input) {
    try {
      const answer = await inHookTime(
        scope,
        extension,
        'input',
        hook(entered, knowing(scope, extension, labelOf(entered))),
      )
      if (!answer) continue
      if ('stop' in answer) throw stopped(answer)
      if (answer.message) {
        entered = messageOf({ role: entered.role, ...answer.message }, entered.id, entered.label, entered.agent)
      }
      tail.push(...(answer.tail ?? []))
    } catch (thrown) {
      throw hookFailed(scope, extension.name, 'input', thrown)
    }
  }
  return { entered, tail }
}

/** Returns the complete messages of a tail, and their joined label. */
export function tailMessages(
  tail: readonly MessageInit[],
  key: string,
): { messages: readonly Message[]; label: Label } {
  const messages = tail.map((init, index) => messageOf(init, `${key}/tail/${index}`))
  return { messages, label: joinOf(messages) }
}

function joinOf(messages: readonly Message[]): Label {
  return joinLabels(...messages.map(labelOf))
}
