import type { NewEntry, Scrubber, SessionStore } from '@provost/core'

import { staleEdits, writeBetweenRuns } from '../log/session-log.ts'
import type { LogSnapshot } from '../types/log.ts'

/** Writes what a session object has to say itself, while no run goes on. */
export interface SessionWriter {
  /** Resolves when all is written; undefined where nothing is being written. */
  underway(): Promise<void> | undefined
  /** Writes the edits, and behind them what is drafted once the log is known to its end. */
  write(draft?: () => readonly NewEntry[]): Promise<void>
  /** Does something with the log when all that was begun before is done. */
  inTurn(task: () => Promise<void>): Promise<void>
}

/**
 * Makes the writer of a session object.
 *
 * @param edits are taken out as they are written.
 */
export function createWriter(
  store: SessionStore,
  sessionId: string,
  known: LogSnapshot,
  scrubber: Scrubber,
  edits: NewEntry[],
): SessionWriter {
  let writing: Promise<void> | undefined

  function inTurn(task: () => Promise<void>): Promise<void> {
    const before = writing ?? Promise.resolve()
    const work = before.then(task).finally(() => {
      if (writing === settled) writing = undefined
    })
    // Whoever waits for the lease only wants it to be free.
    const settled = work.catch(() => {})
    writing = settled
    return work
  }

  return {
    underway: () => writing,
    inTurn,
    write: (draft = () => []) =>
      inTurn(() =>
        writeBetweenRuns(store, sessionId, known, scrubber, (news) => {
          const drafts = [...edits.splice(0), ...draft()]
          if (drafts.length > 0 && news.length > 0) throw staleEdits(sessionId)
          return drafts
        }),
      ),
  }
}
