import type { Principal, SessionStore } from '@provost/core'
import { isRecord, uuidv7 } from '@provost/core'
import { forkSession } from '@provost/sessions'

import { HttpError } from '../http/http-error.ts'
import { conversationSession } from '../requests/session-id.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { ownership } from '../sessions/ownership.ts'
import type { SessionHost } from '../sessions/session-host.ts'
import type { ChatPlace } from './chat-place.ts'

/** A chat of a principal. An edited or regenerated message begins another session: the chat is the last of them. */
export interface Chat {
  readonly principal: Principal
  readonly sessionId: string
  /** All its sessions, the newest first. The inbox of the oldest one names the others. */
  readonly sessions: readonly [string, ...string[]]
}

const moved = 'chat/session/'

/** Returns the session in which a chat is. */
export async function findChat(store: SessionStore, principal: Principal, id: string): Promise<Chat> {
  const first = conversationSession('chat', [principal.id, id])
  const sessions: [string, ...string[]] = [first]
  for await (const { token, value } of store.inbox(first)) {
    if (!token.startsWith(moved) || !isRecord(value) || typeof value['sessionId'] !== 'string') continue
    sessions.unshift(value['sessionId'])
  }
  return { principal, sessionId: sessions[0], sessions }
}

/**
 * Moves a chat to a new session that ends at a place. Its other sessions keep their logs.
 *
 * @throws HttpError 409 if another request has moved the chat
 */
export async function moveChat(
  host: SessionHost,
  { principal, sessions }: Chat,
  live: LiveSession,
  { sessionId, after }: ChatPlace,
): Promise<LiveSession> {
  const { store } = host
  if (live.session.status === 'running' || live.session.status === 'suspended') await live.session.abort()
  const id = uuidv7()
  if (after !== undefined) await forkSession(store, sessionId, { at: after, id, principal })
  else await host.begin(principal, { id, agent: live.agent.name, tools: (await ownership(store, live.id))?.tools })
  const first = sessions.at(-1) ?? live.id
  const outcome = await store.deliver(first, `${moved}${sessions.length}`, { sessionId: id }, principal.id)
  if (outcome === 'duplicate') {
    host.forget(id)
    await store.delete(id)
    throw movedMeanwhile()
  }
  return host.open(principal, id)
}

function movedMeanwhile(): HttpError {
  return new HttpError(409, {
    code: 'chat-moved',
    message: 'Another request has edited or regenerated a message of this chat.',
    hint: 'Load the chat with GET /api/chat/ID, and try again.',
  })
}
