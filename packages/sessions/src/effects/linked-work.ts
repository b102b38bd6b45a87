import { hash } from 'node:crypto'

import type { SessionStore } from '@provost/core'

/** Records that work for a session, such as a fan-out, has a log of its own: its effects belong to the session. */
export async function linkWork(store: SessionStore, sessionId: string, log: string): Promise<void> {
  await store.deliver(linksOf(sessionId), log, {}, 'ledger')
}

/** Yields the logs of work for a session, in the order of their first starts. */
export async function* linkedWork(store: SessionStore, sessionId: string): AsyncIterable<string> {
  for await (const { token } of store.inbox(linksOf(sessionId))) yield token
}

/** Removes the list of such work; its logs stay. */
export function removeLinks(store: SessionStore, sessionId: string): Promise<void> {
  return store.delete(linksOf(sessionId))
}

/** An inbox that no session can have. */
function linksOf(sessionId: string): string {
  return `effects:${hash('sha256', JSON.stringify(['work', sessionId]))}`
}
