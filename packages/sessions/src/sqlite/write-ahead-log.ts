import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

/** The log that SQLite writes ahead, as far as its length goes. */
export interface WriteAheadLog {
  /** Something was committed. */
  committed(): void
  /** Copies it into the database and empties it, unless somebody reads it just now. @returns whether it did. */
  clear(): boolean
}

/** Commits between two looks at its length. */
const commitsEach = 256
/** Bytes from which on it is cleared from here: twice what SQLite lets it grow to before it does so itself. */
const mostBytes = 32 * 1024 * 1024
const waitMs = 100

/**
 * SQLite begins the log ahead anew once all of it is copied, in a moment in which nobody reads. Where several processes
 * write all the time that moment may never come, and it grows for ever: then they are made to wait for it.
 *
 * @param path of the log; undefined where there is none.
 * @param stopReading gives up what this handle itself has open.
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
        // For readers and writers SQLite waits by itself, for another process that copies it does not.
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
        // Somebody who reads for long is not waited for each time.
        if (size > most) most = clear() ? mostBytes : size * 2
      } catch {
        // What was committed stands all the same.
      }
    },
  }
}
