import { foldLog, pendingWork } from '@provost/agent'
import type { SessionState } from '@provost/agent'
import type { Entry, PendingWork, SessionStore } from '@provost/core'
import { displayText, ProvostError } from '@provost/core'
import { createdIn, isCreated } from '@provost/sessions'

/** A session as its log records it, read without its agent. */
export interface RecordedSession {
  readonly id: string
  /** The agent that it began with. */
  readonly agent: string
  readonly entries: readonly Entry[]
  readonly state: SessionState
  readonly pending: PendingWork
}

/**
 * Reads a session from its store.
 *
 * @throws ProvostError `unknown-session`
 */
export async function readSession(store: SessionStore, id: string): Promise<RecordedSession> {
  const entries = await entriesOf(store, id)
  const [first] = entries
  if (!first) {
    throw new ProvostError(
      'unknown-session',
      `Session ${displayText(id, { limit: 200 })} does not exist in this store.`,
      {
        hint: 'List the sessions of the store with: provost runs',
      },
    )
  }
  const state = foldLog(entries)
  const agent = isCreated(first) ? createdIn(first).agent : first.agent
  return { id, agent, entries, state, pending: pendingWork(state) }
}

/** Returns the entries of a log; none for an unknown one. */
export async function entriesOf(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}
