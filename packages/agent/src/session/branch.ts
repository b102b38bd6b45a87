import type { Message, NewEntry } from '@provost/core'
import { positionId, ProvostError } from '@provost/core'

import { newEntry } from '../entry.ts'
import type { Place } from '../entry.ts'
import type { LogState } from '../log-state.ts'
import { faultsOf } from './history-check.ts'

/**
 * The entries with which a session begins that branches off from another: its system prompt, and its messages up to a
 * turn's end, with their labels. Everything else stays behind: waits, sticky approvals, and on whose behalf it acts.
 *
 * @param at id of the last message to take along.
 * @param open whether the last turn is not complete.
 * @throws ProvostError `unknown-message`, `not-a-turn-end`
 */
export function branchEntries(
  state: LogState,
  messages: readonly Message[],
  at: string | undefined,
  open: boolean,
): (place: Place) => readonly NewEntry[] {
  const end = at === undefined ? lastTurnEnd(messages, open) : turnEndAt(messages, at, open)
  const taken = messages.slice(0, end)
  const systems = [...state.preludes.values()].flat()
  // What extensions added to the system prompt is not asked for again.
  const prepared = [...state.memos].flatMap(([key, value]) =>
    key.startsWith('session.start/') ? [{ key, value }] : [],
  )
  return (place) => [
    ...prepared.map(({ key, value }) => newEntry(place, `${place.runId}/${key}`, { type: 'memo', key, value })),
    ...[...systems, ...taken].map((message, index) => {
      const { agent = place.agent } = message
      // The log keeps the system prompt by agent.
      const by = message.role === 'system' ? { ...place, agent } : place
      const id = positionId(place.runId, 0, 'message/branch', index)
      return newEntry(by, id, { type: 'message', message, via: message.role === 'system' ? 'system' : 'input' })
    }),
  ]
}

/** A turn ends in front of the next word of the user, and at the end of a run. */
function endsTurn(messages: readonly Message[], end: number, open: boolean): boolean {
  const next = messages[end]
  return next ? next.role === 'user' : !open
}

function lastTurnEnd(messages: readonly Message[], open: boolean): number {
  for (let end = messages.length; end > 0; end--) {
    if (endsTurn(messages, end, open) && faultsOf(messages.slice(0, end)).length === 0) return end
  }
  return 0
}

function turnEndAt(messages: readonly Message[], at: string, open: boolean): number {
  const index = messages.findIndex(({ id }) => id === at)
  if (index < 0) {
    throw new ProvostError('unknown-message', `There is no message ${at} in what the model sees.`, {
      hint: 'Take ids from session.messages.',
    })
  }
  const end = index + 1
  if (endsTurn(messages, end, open) && faultsOf(messages.slice(0, end)).length === 0) return end
  throw new ProvostError('not-a-turn-end', `messages[${index}] (${at}) is not the last message of a turn.`, {
    hint: 'Fork behind the answer to a message of the user, not inside a turn.',
  })
}
