import type { SessionStore } from '@provost/core'

import { foldLog } from '../fold.ts'
import { readLog } from '../known-log.ts'
import type { Standing } from '../letter.ts'
import { standingOf } from '../letter.ts'
import type { LogState } from '../log-state.ts'

/**
 * Finds a run below the last one of a session, in logs that other processes may be writing.
 *
 * @returns undefined where there is none, or it has ended.
 */
export async function findBelow(
  store: SessionStore,
  state: LogState,
  to: string,
): Promise<Extract<Standing, { agent: string }> | undefined> {
  const logs = new Map<string, LogState>()
  for (;;) {
    const found = standingOf(state, to, logs)
    if (!found || 'agent' in found) return found
    logs.set(found.unread, foldLog(await readLog(store, found.unread)))
  }
}
