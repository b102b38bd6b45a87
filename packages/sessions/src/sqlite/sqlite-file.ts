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
 * Pages of the write-ahead log at which SQLite copies it into the database: about 16 MiB. Each copy waits for the disk
 * twice. With SQLite's default of 4 MiB, appends would wait four times as often.
 */
const walPages = 4_000

/** An open database that prepares each statement once. */
export interface SqliteFile {
  readonly db: DatabaseSync
  /** Returns the statement of a text. Run it at once: it sees all commits of other handles. Its rows are arrays. */
  sql(text: string): StatementSync
  /**
   * Runs a statement that writes, in a new transaction or the current one.
   *
   * @returns the number of written rows.
   */
  write(text: string, ...values: readonly (string | number)[]): number
  /** Runs `work` in a transaction that takes the write lock at its start, so that it never needs a retry. */
  transaction<T>(work: () => T): T
  /** Empties the write-ahead log, unless a reader uses it. */
  readonly clear: WriteAheadLog['clear']
  /** Resolves when all commits before the call are on the disk. It does not block the process. */
  flush(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a database file. A missing file is created with its directory, with access for its owner only.
 *
 * @param busyMs milliseconds to wait for other writers.
 * @throws ProvostError `store-unusable`, `not-a-store` or `newer-store`.
 */
export function openSqlite(path: string, busyMs: number): SqliteFile {
  const db = connect(path, busyMs)
  let mode: unknown
  try {
    mode = retrying(busyMs, () => db.prepare('pragma journal_mode = wal').get()?.['journal_mode'])
    // On file systems without support for a write-ahead log, each commit is flushed.
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
  const batch = createWriteBatch(mode === 'wal' ? () => prepared('select 1 from fences') : undefined)
  const walFile = writeAheadLog(db, wal, busyMs, batch.end)

  function sql(text: string): StatementSync {
    batch.end()
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
      const written = batch.write(statement, ...values)
      walFile.committed()
      return written
    },
    transaction(work) {
      sql('begin immediate').run()
      try {
        const result = work()
        sql('commit').run()
        walFile.committed()
        return result
      } catch (error) {
        if (db.isTransaction) sql('rollback').run()
        throw error
      }
    },
    clear: walFile.clear,
    flush: disk.flush,
    async close() {
      batch.end()
      await disk.close()
      db.close()
    },
  }
}

interface Disk {
  flush(): Promise<void>
  close(): Promise<void>
}

/** Flushes nothing: there is no file, or SQLite flushes it itself. */
const noDisk: Disk = { flush: () => Promise.resolve(), close: () => Promise.resolve() }

/**
 * Opens SQLite's write-ahead log to flush it. A commit survives a power cut once this file is flushed, as
 * `synchronous = full` does at each commit. A flush from here blocks no other work, and one flush covers the commits of
 * several sessions. SQLite holds no lock on this file, so that opening and closing it here breaks none.
 */
function diskOf(path: string): Disk {
  let file: number | undefined
  let flushing: Promise<void> | undefined
  let next: Promise<void> | undefined

  function begin(): Promise<void> {
    next = undefined
    // The file exists and stays the same while a connection is open.
    const opened = (file ??= openSync(path, 'r+'))
    const flush = new Promise<void>((resolve, reject) =>
      fdatasync(opened, (error) => (error ? reject(error) : resolve())),
    ).finally(() => {
      if (flushing === flush) flushing = undefined
    })
    return (flushing = flush)
  }

  return {
    async flush() {
      // A running flush may miss the last commit: all callers during it share the next flush.
      await (flushing ? (next ??= flushing.then(begin, begin)) : begin())
    },
    async close() {
      await Promise.allSettled([flushing, next])
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}

function connect(path: string, timeout: number): DatabaseSync {
  // Loaded on first use: Node 22 prints a warning when it loads.
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite')
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true })
      // SQLite creates its other files with the same mode.
      closeSync(openSync(path, 'a', 0o600))
    }
    return new Database(path, { timeout })
  } catch (error) {
    throw unusable(path, error)
  }
}

/** Retries while the file is locked. SQLite's busy timeout does not cover the switch of a new file to WAL mode. */
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
    hint: 'Give a file in a writable directory, or one that sqliteStore created.',
    cause,
  })
}
