import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

/** Bounds the length of SQLite's write-ahead log. */
export interface WriteAheadLog {
  /** Counts a commit. */
  committed(): void
  /** Copies the log into the database and empties it, unless a reader uses it. @returns whether it did. */
  clear(): boolean
}

/** Commits between checks of the length. */
const commitsEach = 256
/** Bytes from which the log is cleared here: twice the length at which SQLite copies it itself. */
const mostBytes = 32 * 1024 * 1024
const waitMs = 100

/**
 * Bounds the write-ahead log. SQLite restarts the log when it is copied completely and has no reader. With several
 * processes that write all the time this moment may never come, and the log grows. Then the writers wait for it.
 *
 * @param path path of the log; undefined without a log.
 * @param stopReading closes the open queries of this handle.
 */
export function writeAheadLog(
  db: DatabaseSync,
  path: string | undefined,
  busyMs: number,
  stopReading: () => void,
): WriteAheadLog {
  let commits = 0
  let most = mostBytes

  function clear(): boolean {
    stopReading()
    db.exec(`pragma busy_timeout = ${waitMs}`)
    try {
      const truncate = db.prepare('pragma wal_checkpoint(truncate)')
      for (const end = performance.now() + waitMs; performance.now() < end;) {
        if (truncate.get()?.['busy'] === 0) return true
        // SQLite waits for readers and writers itself, but not for another process that copies the log.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
      }
      return false
    } finally {
      db.exec(`pragma busy_timeout = ${busyMs}`)
    }
  }

  return {
    clear,
    committed() {
      if (path === undefined || ++commits % commitsEach > 0) return
      try {
        const { size } = statSync(path)
        // A long reader delays only some commits: after a failure the log grows by as much again before the next attempt.
        if (size > most) most = mostBytes + (clear() ? 0 : size)
      } catch {
        // The commit is not affected.
      }
    },
  }
}
