import type { Entry, NewEntry, Scrubber, SessionStore } from '@provost/core'
import { ProvostError, SessionBusyError, deepFreeze, scrubEntry } from '@provost/core'

import type { LogSnapshot } from '../types/log.ts'
import { holdLease } from './lease.ts'
import { applyEntries, readLog } from './log-snapshot.ts'

/**
 * Writes to a session's log between runs, under a lease.
 *
 * @param leaseMs of the agent: a process that dies here locks the session for so long.
 * @param draft makes the entries after the log was read to its end; `news` are the entries that the snapshot lacked.
 * @throws SessionBusyError while another writer holds the lease.
 */
export async function writeBetweenRuns(
  store: SessionStore,
  sessionId: string,
  leaseMs: number,
  snapshot: LogSnapshot,
  scrubber: Scrubber,
  draft: (news: readonly Entry[]) => readonly NewEntry[],
): Promise<void> {
  const lease = await holdLease(store, sessionId, leaseMs)
  if (!lease) throw new SessionBusyError(sessionId)
  try {
    const after = snapshot.state.offset
    const news = await readLog(store, sessionId, after)
    applyEntries(snapshot, news)
    const drafts = draft(news)
    if (drafts.length === 0) return
    const before = snapshot.state.offset
    const placed = drafts.map((entry, index): Entry =>
      deepFreeze({ ...scrubEntry(scrubber, entry), offset: before + index + 1 }),
    )
    const { existing } = await store.append(sessionId, placed, { after: before, fence: lease.fence })
    applyEntries(snapshot, existing.length === 0 ? placed : await readLog(store, sessionId, before))
  } finally {
    await lease.release()
  }
}

/** The error for edits that were made on an outdated log. */
export function staleEdits(sessionId: string): ProvostError {
  return new ProvostError(
    'stale-edits',
    `Another process continued session ${sessionId} after its messages were edited.`,
    {
      hint: 'The edits are discarded. Read session.messages again and repeat the edits that still apply.',
    },
  )
}
