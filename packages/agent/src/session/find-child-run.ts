import type { SessionStore } from '@provost/core'

import { readLog } from '../log/log-snapshot.ts'
import type { Standing } from '../messages/child-message.ts'
import { standingOf } from '../messages/child-message.ts'
import { foldLog } from '../reducers/reducer.ts'
import type { SessionState } from '../types/session-state.ts'

/**
 * Finds a run below the last one of a session, in logs that other processes may be writing.
 *
 * @returns undefined where there is none, or it has ended.
 */
export async function findBelow(
  store: SessionStore,
  state: SessionState,
  to: string,
): Promise<Extract<Standing, { agent: string }> | undefined> {
  const logs = new Map<string, SessionState>()
  for (;;) {
    const found = standingOf(state, to, logs)
    if (!found || 'agent' in found) return found
    logs.set(found.unread, foldLog(await readLog(store, found.unread)))
  }
}
