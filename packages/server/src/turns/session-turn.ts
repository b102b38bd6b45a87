import type { LogEvents } from '@provost/agent'
import { logEvents } from '@provost/agent'
import type { AgentEvent, SessionStore } from '@provost/core'

import type { Cursor } from '../stream/cursor.ts'
import { cursorAt } from '../stream/cursor.ts'
import type { EventPosition } from '../stream/event-position.ts'
import { origin } from '../stream/event-position.ts'

/** A turn of a session: the answer to user messages. A message that was queued behind an answer begins a turn of its own. */
export interface SessionTurn {
  /** Id of the answer: the same in every process, and over suspensions of the run. */
  readonly id: string
  readonly runId: string
  /** Ids of the user messages that it answers. */
  readonly messageIds: readonly string[]
}

/** Divides the events of a session into turns. */
export interface SessionTurns {
  /** Takes the next event. @returns the turn that it belongs to; undefined between turns. */
  take(event: AgentEvent): SessionTurn | undefined
}

/** @param turn the turn of the first event. */
export function sessionTurns(turn?: SessionTurn): SessionTurns {
  let current = turn
  /** The first message of a queued turn is coming. */
  let opening = false
  return {
    take(event) {
      const { runId, parents } = event
      if (parents.length > 0) return current
      if (event.type === 'agent.start') {
        opening = false
        current = { id: runId, runId, messageIds: event.input.map(({ id }) => id) }
      } else if (event.type === 'turn.start' && event.trigger === 'queue') {
        opening = true
        current = undefined
      } else if (event.type === 'message.end' && event.message.role === 'user') {
        const { messageId } = event
        if (opening) current = { id: `${runId}/${messageId}`, runId, messageIds: [messageId] }
        else if (current) current = { ...current, messageIds: [...current.messageIds, messageId] }
        opening = false
      }
      return current
    },
  }
}

/** A turn in the log of a session. */
export interface RecordedTurn {
  readonly turn: SessionTurn
  /** A reader that starts here receives the whole turn. */
  readonly begin: Cursor
}

/** The turns of a session, the last one, and the turn of a message. */
export interface RecordedTurns {
  readonly turns: readonly SessionTurn[]
  readonly last: RecordedTurn | undefined
  readonly asked: RecordedTurn | undefined
  /** A reader that starts here receives what follows. */
  readonly end: Cursor
  readonly state: LogEvents['state']
}

/** Reads the turns of a session from its log. @param messageId of the turn to find. */
export async function readTurns(store: SessionStore, id: string, messageId?: string): Promise<RecordedTurns> {
  const log = logEvents(id)
  const turns = sessionTurns()
  /** By id: a turn grows with its messages. */
  const all = new Map<string, SessionTurn>()
  let at: EventPosition = origin
  let begin: EventPosition = origin
  let last: RecordedTurn | undefined
  let asked: RecordedTurn | undefined
  for await (const entry of store.read(id)) {
    for (const { event, offset, n } of log.take(entry)) {
      if (event.type === 'agent.start' || event.type === 'turn.start') begin = at
      const turn = turns.take(event)
      if (turn && turn !== last?.turn) {
        all.set(turn.id, turn)
        last = { turn, begin: turn.id === last?.turn.id ? last.begin : cursorAt(begin) }
        if (messageId !== undefined && turn.messageIds.includes(messageId)) asked = last
      }
      at = { offset, n, passing: false }
    }
  }
  return { turns: [...all.values()], last, asked, end: cursorAt(at), state: log.state }
}
