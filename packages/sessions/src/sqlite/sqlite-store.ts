import type { Appended, Clock, Delivery, KnownKeys, SessionInfo, SessionStore, Tombstone } from '@provost/core'
import { checkedStore, checkChoice, checkOptions, clockOf, ProvostError } from '@provost/core'

import { blobHash, isHash } from '../kit/blob-mentions.ts'
import { deliveryId } from '../kit/delivery-id.ts'
import { mustBeDurable } from '../kit/durable-entry.ts'
import { diskError, isBusy, sessionErased, storeClosed } from '../kit/store-error.ts'
import { createWatchers } from '../kit/store-watchers.ts'
import type { NewsOf, Watchers } from '../kit/store-watchers.ts'
import { freezeParsed } from '../text/entry-text.ts'
import { nameKey } from '../text/name-key.ts'
import { sweep, tombstoneOf } from './sqlite-erasure.ts'
import { openSqlite } from './sqlite-file.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { sqliteLogs } from './sqlite-log.ts'
import { row, rows } from './sqlite-row.ts'
import { deleteSession, listSessions } from './sqlite-session.ts'
import { sqliteSummaries } from './sqlite-summary.ts'
import { sqliteTransient } from './sqlite-transient.ts'
import { claimDue, noteMail, setDue } from './sqlite-wake.ts'

/** Options of {@link sqliteStore}. */
export interface SqliteStoreOptions {
  /**
   * Which writes are flushed to the disk before the store answers, so that they survive a power cut. A crash of the process
   * loses nothing in any case.
   *
   * - `calls` (default): the start of a tool call that must not run twice, with all earlier appends, and deliveries to an
   *   inbox. After a power cut no such tool runs twice without approval, and no accepted approval is lost. The last model
   *   call and reading tools may run again. Each batch of such calls costs one flush, which blocks no other work.
   * - `always`: every append.
   * - `never`: nothing; SQLite flushes in the background.
   */
  readonly sync?: 'calls' | 'always' | 'never'
  /** Milliseconds to wait for another writing process; default 5000. Then the call fails with `store-busy`. */
  readonly busyMs?: number
  /** Milliseconds between polls for writes of other processes, while a session is watched; default 50. */
  readonly pollMs?: number
  /** Default: that of the machine. All processes that use the file need the same. */
  readonly clock?: Clock
}

/** Deliveries are numbered over all sessions. */
const deliveryDigits = 16

const optionKeys = {
  sync: true,
  busyMs: true,
  pollMs: true,
  clock: true,
} satisfies KnownKeys<SqliteStoreOptions>

/**
 * Returns a store in one SQLite file, for any number of processes of one machine. The file must not be on a network drive.
 * It is opened at once; a missing file is created with its directory.
 *
 * @param path path of the file, or `:memory:` for a database that ends with the store.
 * @throws ProvostError `store-unusable`, `not-a-store` (another application's database), `newer-store`
 *
 * @example
 * const agent = createAgent({ name: 'desk', model, store: sqliteStore('data/sessions.db') })
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): SessionStore {
  checkOptions(options, optionKeys, 'sqliteStore')
  const { sync = 'calls', busyMs = 5_000, pollMs = 50 } = options
  checkChoice(sync, ['calls', 'always', 'never'], 'sync', 'sqliteStore')
  const clock = clockOf(options)
  const file = openSqlite(path, busyMs)
  const logs = sqliteLogs(file, clock, assertOpen)
  const watchers = watchFile(file, pollMs)
  let closed = false

  function assertOpen(): void {
    if (closed) throw storeClosed()
  }

  /** Returns the result as a promise, and converts SQLite's errors to ProvostErrors with a hint. */
  async function run<T>(work: () => T): Promise<T> {
    assertOpen()
    try {
      return work()
    } catch (error) {
      throw storeError(error)
    }
  }

  function remove(sessionId: string, stone?: Tombstone): readonly string[] {
    const names = deleteSession(file, sessionId, stone)
    for (const name of names) logs.drop(name)
    watchers.wake(sessionId)
    return names
  }

  const storeError = (error: unknown): unknown =>
    isBusy(error) ? busy(path, error) : diskError(`the store ${path}`, error)

  return checkedStore({
    clock,
    ...(path === ':memory:' ? { ephemeral: true } : { transient: sqliteTransient(file, run) }),
    place: () => (path === ':memory:' ? { kind: 'process' } : { kind: 'file', path }),
    summaries: sqliteSummaries(file, run),
    lease: (...request) => run(() => logs.lease(...request)),
    leaseState: (name) => run(() => logs.leaseState(name)),
    releaseQuarantine: (sessionId) => run(() => logs.releaseQuarantine(sessionId)),
    release: (name, fence) => run(() => logs.release(name, fence)),

    append(name, entries, at) {
      let appended: Appended
      try {
        assertOpen()
        appended = logs.append(name, entries, at)
      } catch (error) {
        return Promise.reject(storeError(error))
      }
      watchers.wake(name, 'log')
      const flushes = sync === 'always' || (sync === 'calls' && entries.some(mustBeDurable))
      return flushes ? file.flush().then(() => appended) : Promise.resolve(appended)
    },

    read: (name, after = 0) => logs.read(name, after),

    async deliver(sessionId, token, value, by) {
      const accepted = await run(() => {
        const insert = 'insert into inbox (session, token, body) values (?, ?, ?) on conflict do nothing'
        const body = JSON.stringify({ token, value, by, at: clock.now() })
        return file.transaction(() => {
          if (tombstoneOf(file, sessionId)) throw sessionErased(sessionId)
          const put = file.sql(insert).run(nameKey(sessionId), nameKey(token), body)
          if (put.changes === 0) return false
          noteMail(file, clock.now(), sessionId, Number(put.lastInsertRowid))
          return true
        })
      })
      if (!accepted) return 'duplicate'
      if (sync !== 'never') await file.flush()
      watchers.wake(sessionId, 'inbox')
      return 'accepted'
    },

    async *inbox(sessionId, after = '') {
      const page = 'select seq, body from inbox where session = ? and seq > ? order by seq limit 256'
      for (let seq = Number(after); ;) {
        const found = await run(() => rows(file.sql(page), nameKey(sessionId), seq))
        if (found.length === 0) return
        for (const [at, body] of found) {
          seq = Number(at)
          const delivery: Delivery = { id: deliveryId(seq, deliveryDigits), ...JSON.parse(String(body)) }
          freezeParsed(delivery)
          yield delivery
        }
      }
    },

    watch: watchers.watch,

    blob: (hash) =>
      run(() => {
        const [bytes] = (isHash(hash) && row(file.sql('select bytes from blobs where hash = ?'), hash)) || []
        return bytes instanceof Uint8Array ? bytes : undefined
      }),

    putBlob: (bytes) =>
      run(() => {
        const hash = blobHash(bytes)
        const touched = file.sql('update blobs set put = ? where hash = ?').run(clock.now(), hash)
        if (touched.changes === 0) {
          const insert = 'insert into blobs values (?, ?, ?) on conflict do update set put = excluded.put'
          file.sql(insert).run(hash, clock.now(), bytes)
        }
        return hash
      }),

    async *list(filter = {}) {
      const { limit = Number.POSITIVE_INFINITY } = filter
      let after = filter.after
      for (let left = limit; left > 0;) {
        const page: readonly SessionInfo[] = await run(() =>
          listSessions(file, { ...filter, ...(after !== undefined && { after }) }, Math.min(left, 256)),
        )
        yield* page
        left -= page.length
        after = page.at(-1)?.id
        if (after === undefined) return
      }
    },

    claimDue: (claim) => run(() => claimDue(file, clock.now(), claim)),
    setDue: (sessionId, next) => run(() => setDue(file, clock.now(), sessionId, next)),

    delete: (sessionId) => run(() => void remove(sessionId)),
    erase: (sessionId, receipt) => run(() => remove(sessionId, { at: clock.now(), receipt })),
    tombstone: (log) => run(() => tombstoneOf(file, log)),
    sweep: (what) => run(() => sweep(file, path, what)),

    async close() {
      if (closed) return
      closed = true
      watchers.close()
      await file.close()
    },
  })
}

function busy(path: string, cause: unknown): ProvostError {
  return new ProvostError('store-busy', `Another process writes the store ${path}.`, {
    hint: 'Try again. Raise busyMs if other processes write for long.',
    cause,
    retryable: true,
  })
}

/** Polls for writes of other processes while a session is watched. A poll takes microseconds and reads no table. */
function watchFile({ sql }: SqliteFile, pollMs: number): Watchers {
  /** Last seen position of each part of a session; undefined before its first poll, which wakes the watcher. */
  const marks = new Map<string, Readonly<Record<NewsOf, string>> | undefined>()
  let timer: ReturnType<typeof setInterval> | undefined
  let version: unknown

  function markOf(sessionId: string): Record<NewsOf, string> {
    const key = nameKey(sessionId)
    const last = `select
      (select max(place) from entries, logs where key = ? and place between no * 16777216 and (no + 1) * 16777216 - 1),
      (select max(seq) from inbox where session = ?)`
    const [log, inbox] = row(sql(last), key, key) ?? []
    return { log: String(log), inbox: String(inbox) }
  }

  function poll(): void {
    try {
      const now = row(sql('pragma data_version'))?.[0]
      if (now === version) return
      version = now
      for (const [sessionId, before] of marks) {
        const after = markOf(sessionId)
        marks.set(sessionId, after)
        for (const part of ['log', 'inbox'] as const) {
          if (after[part] !== before?.[part]) watchers.wake(sessionId, part)
        }
      }
    } catch {
      // The next poll repeats a failed one.
      version = undefined
    }
  }

  const watchers = createWatchers({
    begun(sessionId) {
      marks.set(sessionId, undefined)
      version = undefined
      timer ??= setInterval(poll, pollMs)
    },
    ended(sessionId) {
      marks.delete(sessionId)
      if (marks.size > 0) return
      clearInterval(timer)
      timer = undefined
    },
  })
  return watchers
}
