import { createHash } from 'node:crypto'

/** Protocols whose clients name a conversation by an id of their own. */
type Protocol = 'chat' | 'agui'

/**
 * Returns the id of the first session of a conversation. It contains the principal, so a conversation never reaches the
 * session of another.
 *
 * @param parts id of the principal, then what names the conversation among its own.
 */
export function conversationSession(protocol: Protocol, parts: readonly string[]): string {
  return `${protocol}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)}`
}

/**
 * Whether a client may choose an id for a session. Event ids and log names contain it. Ids of conversations are left to
 * {@link conversationSession}: another principal could take them in advance.
 */
export function isSessionId(id: string): boolean {
  return /^[A-Za-z0-9][\w.-]{7,127}$/u.test(id) && !/^(?:chat|agui)-[0-9a-f]{40}$/u.test(id)
}
