import type { Entry, NewEntry, Scrubber, SessionStore } from '@provost/core'
import { ProvostError, SessionBusyError, deepFreeze, scrubEntry } from '@provost/core'

import { defaultLeaseMs } from '../definition/resolved-agent.ts'
import { offsetOf } from '../state/session-state.ts'
import type { LogSnapshot } from '../types/log.ts'
import { holdLease } from './lease.ts'
import { applyEntries, readLog } from './log-snapshot.ts'

/**
 * Writes to a session's log while no run does: the lease is held for as long as it takes.
 *
 * @param draft makes the entries, once the log is known to its end; `news` are those that were not known before.
 * @throws SessionBusyError while somebody else writes.
 */
export async function writeBetweenRuns(
  store: SessionStore,
  sessionId: string,
  known: LogSnapshot,
  scrubber: Scrubber,
  draft: (news: readonly Entry[]) => readonly NewEntry[],
): Promise<void> {
  const lease = await holdLease(store, sessionId, defaultLeaseMs)
  if (!lease) throw new SessionBusyError(sessionId)
  try {
    const after = offsetOf(known.state)
    const news = await readLog(store, sessionId, after)
    applyEntries(known, news)
    const drafts = draft(news)
    if (drafts.length === 0) return
    const before = offsetOf(known.state)
    const placed = drafts.map((entry, index): Entry =>
      deepFreeze({ ...scrubEntry(scrubber, entry), offset: before + index + 1 }),
    )
    const { existing } = await store.append(sessionId, placed, { after: before, fence: lease.fence })
    applyEntries(known, existing.length === 0 ? placed : await readLog(store, sessionId, before))
  } finally {
    await lease.release()
  }
}

/** The session went on elsewhere: what the edits were made on is not what is there. */
export function staleEdits(sessionId: string): ProvostError {
  return new ProvostError('stale-edits', `Session ${sessionId} went on elsewhere since its messages were edited.`, {
    hint: 'The edits are dropped. Look at session.messages again and repeat those that still make sense.',
  })
}
