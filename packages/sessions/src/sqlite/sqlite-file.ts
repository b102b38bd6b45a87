import { closeSync, fdatasync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'

import { ProvostError, toErrorInfo } from '@provost/core'

import { isBusy } from '../kit/store-error.ts'
import { migrateSqlite } from './sqlite-schema.ts'
import { writeAheadLog } from './write-ahead-log.ts'
import type { WriteAheadLog } from './write-ahead-log.ts'
import { createWriteBatch } from './write-batch.ts'

/**
 * Pages in the log ahead, about, at which it is copied into the database: 16 MiB. Each copy waits for the disk twice, so at
 * SQLite's 4 MiB appends wait four times as often.
 */
const walPages = 4_000

/** An open database, whose statements are prepared once. */
export interface SqliteFile {
  readonly db: DatabaseSync
  /** The statement of a text, to be run at once: it sees all that others have committed. Its rows come as arrays. */
  sql(text: string): StatementSync
  /**
   * Runs a statement that writes, in a transaction of its own or the one under way.
   *
   * @returns how many rows it wrote.
   */
  write(text: string, ...values: readonly (string | number)[]): number
  /** Runs `work` in a transaction that may write from its start on: it never has to be tried again. */
  transaction<T>(work: () => T): T
  /** Empties the log ahead, unless somebody reads it just now. */
  readonly clear: WriteAheadLog['clear']
  /** Resolves when everything that was committed before the call is on the disk; the process goes on meanwhile. */
  flush(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a database file, which comes into being with its directory, for the eyes of its owner only.
 *
 * @param busyMs how long to wait for other writers.
 * @throws ProvostError `store-unusable`, `not-a-store` or `newer-store`.
 */
export function openSqlite(path: string, busyMs: number): SqliteFile {
  const db = connect(path, busyMs)
  let mode: unknown
  try {
    mode = retrying(busyMs, () => db.prepare('pragma journal_mode = wal').get()?.['journal_mode'])
    // Where a file system does not allow for a log ahead, each commit is forced as it is made.
    db.exec(
      `pragma synchronous = ${mode === 'wal' ? 'normal' : 'full'}; pragma foreign_keys = off; pragma wal_autocheckpoint = ${walPages}`,
    )
    migrateSqlite(db, path)
  } catch (error) {
    db.close()
    throw unusable(path, error)
  }
  const statements = new Map<string, StatementSync>()
  const wal = mode === 'wal' ? `${path}-wal` : undefined
  const disk = wal === undefined ? noDisk : diskOf(wal)
  const burst = createWriteBatch(mode === 'wal' ? () => prepared('select 1 from fences') : undefined)
  const ahead = writeAheadLog(db, wal, busyMs, burst.end)

  function sql(text: string): StatementSync {
    burst.end()
    return prepared(text)
  }

  function prepared(text: string): StatementSync {
    let statement = statements.get(text)
    if (!statement) {
      statement = db.prepare(text)
      statement.setReturnArrays(true)
      statements.set(text, statement)
    }
    return statement
  }

  return {
    db,
    sql,
    write(text, ...values) {
      const statement = prepared(text)
      if (db.isTransaction) return Number(statement.run(...values).changes)
      const written = burst.write(statement, ...values)
      ahead.committed()
      return written
    },
    transaction(work) {
      sql('begin immediate').run()
      try {
        const result = work()
        sql('commit').run()
        ahead.committed()
        return result
      } catch (error) {
        if (db.isTransaction) sql('rollback').run()
        throw error
      }
    },
    clear: ahead.clear,
    flush: disk.flush,
    async close() {
      burst.end()
      await disk.close()
      db.close()
    },
  }
}

interface Disk {
  flush(): Promise<void>
  close(): Promise<void>
}

/** Nothing to force: there is no file, or SQLite does so itself. */
const noDisk: Disk = { flush: () => Promise.resolve(), close: () => Promise.resolve() }

/**
 * The log that SQLite writes ahead: what is committed stands in it, and has outlived a power cut once it was forced to
 * the disk, as `synchronous = full` does at each commit. Done from here nobody has to stand still for it, and what
 * several sessions have committed meanwhile goes together. No lock of SQLite is on this file: opening and closing it
 * here breaks none.
 */
function diskOf(path: string): Disk {
  let file: number | undefined
  let forcing: Promise<void> | undefined
  let next: Promise<void> | undefined

  function begin(): Promise<void> {
    next = undefined
    // It is there while a connection is, and no other takes its place.
    const opened = (file ??= openSync(path, 'r+'))
    const forced = new Promise<void>((resolve, reject) =>
      fdatasync(opened, (error) => (error ? reject(error) : resolve())),
    ).finally(() => {
      if (forcing === forced) forcing = undefined
    })
    return (forcing = forced)
  }

  return {
    async flush() {
      // What is being forced may have begun before the last commit: all who ask meanwhile share the one after it.
      await (forcing ? (next ??= forcing.then(begin, begin)) : begin())
    },
    async close() {
      await Promise.allSettled([forcing, next])
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}

function connect(path: string, timeout: number): DatabaseSync {
  // Loaded where it is needed: Node 22 warns of it when it is.
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite')
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true })
      // The files that SQLite puts beside it get the same mode.
      closeSync(openSync(path, 'a', 0o600))
    }
    return new Database(path, { timeout })
  } catch (error) {
    throw unusable(path, error)
  }
}

/** The one lock that SQLite does not wait for: of the first to open a new file, one makes it a WAL database. */
function retrying<T>(forMs: number, work: () => T): T {
  for (const end = Date.now() + forMs; ;) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || Date.now() > end) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

function unusable(path: string, cause: unknown): ProvostError {
  if (cause instanceof ProvostError) return cause
  const why = toErrorInfo(cause).message
  return new ProvostError('store-unusable', `The store ${path} cannot be opened: ${why}.`, {
    hint: 'Give a file in a directory that can be written, or one that a store has made.',
    cause,
  })
}
