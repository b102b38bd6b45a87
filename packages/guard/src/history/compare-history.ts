import { hash } from 'node:crypto'

import type { ModelMessage } from '@provost/core'

import type { SeenMessage } from './seen-message.ts'
import { isSame, isSameObject, seen } from './seen-message.ts'

/** A message that the guard has not recorded. */
export interface FreshMessage {
  readonly message: ModelMessage
  /**
   * `live`: the loop added it while the guard looked on. `stored`: it came with a history that agrees with what was seen.
   * `inserted`: it stands where the history was changed.
   */
  readonly source: 'live' | 'stored' | 'inserted'
}

/** How a history differs from what was seen of it. */
export interface HistoryChange {
  readonly fresh: readonly FreshMessage[]
  /** Messages that were seen, and are missing or differ now. */
  readonly lost: number
  /** How many messages from the start stay as they were seen. */
  readonly kept: number
  /** What is seen after these. */
  readonly added: readonly SeenMessage[]
}

/** Returns how a history differs from what was seen. An unchanged message is compared by its object and not read again. */
export function compareHistory(before: readonly SeenMessage[], history: readonly ModelMessage[]): HistoryChange {
  let same = 0
  while (same < before.length && same < history.length) {
    const [known, message] = [before[same], history[same]]
    if (!known || !message || !isSame(known, message)) break
    same++
  }
  if (same < before.length) return changed(before, history, same)
  const last = history[same - 1]
  const marks = before[same - 1]?.marks
  const source = last && marks && isSameObject(marks, last) ? 'live' : 'stored'
  const added = history.slice(same)
  return { fresh: added.map((message) => ({ message, source })), lost: 0, kept: same, added: added.map(seen) }
}

/** A changed history: messages that were seen anywhere count as seen; of others only those at the end may be new. */
function changed(before: readonly SeenMessage[], history: readonly ModelMessage[], same: number): HistoryChange {
  const left = new Map<string, number>()
  for (const { print } of before.slice(same)) left.set(print, (left.get(print) ?? 0) + 1)
  const added: SeenMessage[] = []
  const fresh: { readonly at: number; readonly message: ModelMessage }[] = []
  let lastKnown = same - 1
  for (const [index, message] of history.entries()) {
    if (index < same) continue
    const one = seen(message)
    added.push(one)
    const count = left.get(one.print) ?? 0
    if (count > 0) {
      left.set(one.print, count - 1)
      lastKnown = index
    } else fresh.push({ at: index, message })
  }
  let lost = 0
  for (const count of left.values()) lost += count
  return {
    // Nothing but a new message of the human can follow a change: what else is there was not seen to arise.
    fresh: fresh.map(({ at, message }) => ({
      message,
      source: at > lastKnown && at === history.length - 1 && message.role === 'user' ? 'stored' : 'inserted',
    })),
    lost,
    kept: same,
    added,
  }
}

/** Returns the hash of a history that continues one with the hash `before`. */
export function chainAfter(before: string, messages: readonly Pick<SeenMessage, 'print'>[]): string {
  let chain = before
  for (const { print } of messages) chain = hash('sha256', `${chain}\n${print}`, 'base64url')
  return chain
}
