import { createHash } from 'node:crypto'

import type { Principal, SessionStore } from '@provost/core'
import { isRecord, uuidv7 } from '@provost/core'
import { forkSession } from '@provost/sessions'

import { HttpError } from '../http/http-error.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { ownership } from '../sessions/ownership.ts'
import { foldSession } from '../sessions/session-end.ts'
import type { SessionHost } from '../sessions/session-host.ts'

/** A chat of a principal. An edited or regenerated message begins another session: the chat is the last of them. */
export interface Chat {
  readonly principal: Principal
  /** The first session. Its inbox has the later ones. */
  readonly first: string
  readonly sessionId: string
  /** How many sessions followed the first. */
  readonly moves: number
}

const moved = 'chat/session/'

/** Returns the session in which a chat is. Its id contains the principal, so a chat never reaches another principal's session. */
export async function findChat(store: SessionStore, principal: Principal, id: string): Promise<Chat> {
  const first = `chat-${createHash('sha256')
    .update(JSON.stringify([principal.id, id]))
    .digest('hex')
    .slice(0, 40)}`
  let [sessionId, moves] = [first, 0]
  for await (const { token, value } of store.inbox(first)) {
    if (!token.startsWith(moved) || !isRecord(value) || typeof value['sessionId'] !== 'string') continue
    sessionId = value['sessionId']
    moves++
  }
  return { principal, first, sessionId, moves }
}

/**
 * Moves a chat to a new session that ends before a message. The sessions before it keep their logs.
 *
 * @throws HttpError 404 for an unknown message, 409 if another request has moved the chat
 */
export async function rewindChat(
  host: SessionHost,
  chat: Chat,
  live: LiveSession,
  messageId: string,
): Promise<LiveSession> {
  const { store } = host
  const { principal, first, moves } = chat
  if (live.session.status === 'running' || live.session.status === 'suspended') await live.session.abort()
  const { messages } = (await foldSession(store, live.id)).state
  const index = messages.findIndex(({ id, role }) => id === messageId && role === 'user')
  if (index < 0) throw unknownMessage()
  const before = messages.slice(0, index).findLast(({ role }) => role !== 'system')
  const id = uuidv7()
  if (before) await forkSession(store, live.id, { at: before.id, id, principal })
  else await host.begin(principal, { id, agent: live.agent.name, tools: (await ownership(store, live.id))?.tools })
  const outcome = await store.deliver(first, `${moved}${moves + 1}`, { sessionId: id }, principal.id)
  if (outcome === 'duplicate') {
    host.forget(id)
    await store.delete(id)
    throw movedMeanwhile()
  }
  return host.open(principal, id)
}

function unknownMessage(): HttpError {
  return new HttpError(404, {
    code: 'unknown-message',
    message: 'The chat has no such user message.',
    hint: 'Load the chat with GET /api/chat/ID: its messages have the ids that the server knows.',
  })
}

function movedMeanwhile(): HttpError {
  return new HttpError(409, {
    code: 'chat-moved',
    message: 'Another request has edited or regenerated a message of this chat.',
    hint: 'Load the chat with GET /api/chat/ID, and try again.',
  })
}
