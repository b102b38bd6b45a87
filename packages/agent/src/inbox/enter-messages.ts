import type { Clock, Label, MaybePromise, Message, MessageInit, NewEntry } from '@provost/core'
import { joinLabels, labelOf } from '@provost/core'

import { runHooks } from '../hooks/run-hooks.ts'
import { messageOf } from '../messages/message.ts'
import { newEntry } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'

/**
 * Returns the entries by which messages enter a run, after the `input` hooks have processed each.
 *
 * @param key prefix for the ids of the entries.
 * @throws RunEnding when a hook stops the run or fails.
 */
export async function enterMessages(
  ctx: RunContext,
  messages: readonly Message[],
  via: 'input' | 'steer' | 'queue',
  place: EntryContext,
  key: string,
): Promise<readonly NewEntry[]> {
  const entries: NewEntry[] = []
  for (const message of messages) {
    const { entered, tail } = await throughHooks(ctx, message)
    // A message id may come from outside, so the entry id does not use it.
    const id = `${key}/entry/${entries.length}`
    entries.push(newEntry(place, id, { type: 'message', message: entered, via }))
    if (tail.length > 0) {
      const { label } = tailMessages(tail, place.clock, entered.id)
      entries.push(newEntry(place, `${id}/tail`, { type: 'tail', hash: '', label, with: tail }))
    }
  }
  return entries
}

/** A message after the `input` hooks, and what they add behind the view. */
interface Entered {
  readonly entered: Message
  readonly tail: readonly MessageInit[]
}

function throughHooks(scope: RunContext, message: Message): MaybePromise<Entered> {
  const unchanged: Entered = { entered: message, tail: [] }
  const { clock } = scope.state
  return runHooks(scope, 'input', unchanged, {
    shown: ({ entered }) => labelOf(entered),
    call: (hook, ctx, { entered }) => hook(entered, ctx),
    answered: ({ message: other, tail }, { entered, tail: before }) => ({
      entered: other
        ? messageOf({ role: entered.role, ...other }, clock, entered.id, entered.label, entered.agent)
        : entered,
      tail: tail ? [...before, ...tail] : before,
    }),
  })
}

/** Returns the complete messages of a tail, and their joined label. */
export function tailMessages(
  tail: readonly MessageInit[],
  clock: Clock,
  key: string,
): { messages: readonly Message[]; label: Label } {
  const messages = tail.map((init, index) => messageOf(init, clock, `${key}/tail/${index}`))
  return { messages, label: joinedLabelOf(messages) }
}

function joinedLabelOf(messages: readonly Message[]): Label {
  return joinLabels(...messages.map(labelOf))
}
