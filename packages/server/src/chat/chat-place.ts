import type { SessionStore } from '@provost/core'

import { HttpError } from '../http/http-error.ts'
import type { SessionTurn } from '../turns/session-turn.ts'
import { readTurns } from '../turns/session-turn.ts'
import type { ShownMessages } from './chat-request.ts'
import type { Chat } from './chat-session.ts'

/** The end of a turn in a session of a chat. A message that begins another branch follows it. */
export interface ChatPlace {
  readonly sessionId: string
  /** A user message of the turn. Absent for the beginning of the chat. */
  readonly after?: string
}

/** How many sessions of a chat are read for a message, the newest first. */
const mostSessions = 100

/**
 * Returns where a message follows what its page shows: behind the last message before it that the chat has.
 *
 * @returns undefined at the end of the chat, and for a page whose messages the chat does not have.
 */
export async function placeBehind(
  store: SessionStore,
  chat: Chat,
  id: string,
  { ids, none }: ShownMessages,
): Promise<ChatPlace | undefined> {
  let behind = ids.length
  let place: ChatPlace | undefined
  for (const sessionId of chat.sessions.slice(0, mostSessions)) {
    const { turns } = await readTurns(store, sessionId)
    const isCurrent = sessionId === chat.sessionId
    const byMessage = turnsByMessage(turns)
    // The page repeats its request.
    if (isCurrent && byMessage.has(id)) return undefined
    if (none) return turns.length > 0 ? { sessionId } : undefined
    const found = ids.slice(0, behind).findIndex((one) => byMessage.has(one))
    if (found < 0) continue
    behind = found
    const turn = byMessage.get(ids[found] ?? '')
    place = isCurrent && turn === turns.at(-1) ? undefined : placeAt(sessionId, turn)
    // No other branch has more of the list.
    if (behind === 0) break
  }
  return place
}

/**
 * Returns the place of a user message that is replaced.
 *
 * @throws HttpError 404 for an unknown message
 */
export async function placeOf(store: SessionStore, chat: Chat, id: string): Promise<ChatPlace> {
  for (const sessionId of chat.sessions.slice(0, mostSessions)) {
    const { turns } = await readTurns(store, sessionId)
    const found = turns.findIndex(({ messageIds }) => messageIds.includes(id))
    if (found < 0) continue
    // A message that steered an answer stays with it.
    const begins = turns[found]?.messageIds[0] === id
    return placeAt(sessionId, turns[begins ? found - 1 : found])
  }
  throw unknownMessage()
}

function placeAt(sessionId: string, turn: SessionTurn | undefined): ChatPlace {
  const after = turn?.messageIds[0]
  return { sessionId, ...(after !== undefined && { after }) }
}

/** Returns turns by the ids of their messages. The answer of a turn has the turn's id. */
function turnsByMessage(turns: readonly SessionTurn[]): ReadonlyMap<string, SessionTurn> {
  return new Map(turns.flatMap((turn) => [turn.id, ...turn.messageIds].map((id) => [id, turn] as const)))
}

function unknownMessage(): HttpError {
  return new HttpError(404, {
    code: 'unknown-message',
    message: 'The chat has no such user message.',
    hint: 'Load the chat with GET /api/chat/ID: its messages have the ids that the server knows.',
  })
}
