import type { SessionStore } from '@provost/core'

import { readLog } from '../log/log-snapshot.ts'
import type { ChildStatus } from '../messages/child-message.ts'
import { childStatusOf } from '../messages/child-message.ts'
import { foldLog } from '../reducers/reducer.ts'
import type { SessionState } from '../types/session-state.ts'

/**
 * Finds a child run below the last run of a session. Other processes may be writing its log.
 *
 * @returns undefined if there is no such run, or it has ended.
 */
export async function findBelow(
  store: SessionStore,
  state: SessionState,
  to: string,
): Promise<Extract<ChildStatus, { agent: string }> | undefined> {
  const logs = new Map<string, SessionState>()
  for (;;) {
    const found = childStatusOf(state, to, logs)
    if (!found || 'agent' in found) return found
    logs.set(found.unread, foldLog(await readLog(store, found.unread)))
  }
}
