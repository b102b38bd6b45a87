import type { NewEntry, Scrubber, SessionStore } from '@provost/core'

import { staleEdits, writeBetweenRuns } from '../log/session-log.ts'
import type { LogSnapshot } from '../types/log.ts'

/** Writes entries of a session object between runs. */
export interface SessionWriter {
  /** Resolves when all writes have ended; undefined if there are none. */
  underway(): Promise<void> | undefined
  /** Writes the edits, then the entries that `draft` returns when the log is up to date. */
  write(draft?: () => readonly NewEntry[]): Promise<void>
  /** Runs a task after all earlier tasks have ended. */
  inTurn(task: () => Promise<void>): Promise<void>
}

/**
 * Creates the writer of a session object.
 *
 * @param edits entries to write. Written entries are removed from the list.
 */
export function createWriter(
  store: SessionStore,
  sessionId: string,
  leaseMs: number,
  snapshot: LogSnapshot,
  scrubber: Scrubber,
  edits: NewEntry[],
): SessionWriter {
  let writing: Promise<void> | undefined

  function inTurn(task: () => Promise<void>): Promise<void> {
    const before = writing ?? Promise.resolve()
    const work = before.then(task).finally(() => {
      if (writing === settled) writing = undefined
    })
    // Later tasks only wait for the end of this one. The caller receives its error.
    const settled = work.catch(() => {})
    writing = settled
    return work
  }

  return {
    underway: () => writing,
    inTurn,
    write: (draft = () => []) =>
      inTurn(() =>
        writeBetweenRuns(store, sessionId, leaseMs, snapshot, scrubber, (news) => {
          const drafts = [...edits.splice(0), ...draft()]
          if (drafts.length > 0 && news.length > 0) throw staleEdits(sessionId)
          return drafts
        }),
      ),
  }
}
