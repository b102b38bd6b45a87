import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'

import { isRecord, ProvostError, toErrorInfo } from '@provost/core'

import { migrateSqlite } from './sqlite-schema.ts'

/** An open database, whose statements are prepared once. */
export interface SqliteFile {
  readonly db: DatabaseSync
  /** The statement of a text; its rows come as arrays. */
  sql(text: string): StatementSync
  /** Runs `work` in a transaction that may write from its start on: it never has to be tried again. */
  transaction<T>(work: () => T): T
  /** Runs `work` with each of its commits forced to the disk. */
  durably<T>(work: () => T): T
}

/** When commits are forced to the disk, as SQLite calls it. */
export type Synchronous = 'full' | 'normal' | 'off'

/**
 * Opens a database file, which comes into being with its directory, for the eyes of its owner only.
 *
 * @param busyMs how long to wait for other writers.
 * @throws ProvostError `store-unusable`, `not-a-store` or `newer-store`.
 */
export function openSqlite(path: string, synchronous: Synchronous, busyMs: number): SqliteFile {
  const db = connect(path, busyMs)
  try {
    retrying(busyMs, () => db.exec('pragma journal_mode = wal'))
    db.exec(`pragma synchronous = ${synchronous}; pragma foreign_keys = off`)
    migrateSqlite(db, path)
  } catch (error) {
    db.close()
    throw unusable(path, error)
  }
  const statements = new Map<string, StatementSync>()

  function sql(text: string): StatementSync {
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
    transaction(work) {
      sql('begin immediate').run()
      try {
        const result = work()
        sql('commit').run()
        return result
      } catch (error) {
        if (db.isTransaction) sql('rollback').run()
        throw error
      }
    },
    durably(work) {
      if (synchronous === 'full') return work()
      db.exec('pragma synchronous = full')
      try {
        return work()
      } finally {
        db.exec(`pragma synchronous = ${synchronous}`)
      }
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
function retrying(forMs: number, work: () => void): void {
  for (const end = Date.now() + forMs; ;) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || Date.now() > end) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

/** Whether SQLite gave up waiting for another writer. */
export function isBusy(error: unknown): boolean {
  return isRecord(error) && (Number(error['errcode']) & 0xff) === 5
}

function unusable(path: string, cause: unknown): ProvostError {
  if (cause instanceof ProvostError) return cause
  const why = toErrorInfo(cause).message
  return new ProvostError('store-unusable', `The store ${path} cannot be opened: ${why}.`, {
    hint: 'Give a file in a directory that can be written, or one that a store has made.',
    cause,
  })
}
