import type { Clock, Delivery, KnownKeys, SessionStore } from '@provost/core'
import { checkedStore, checkOptions, clockOf } from '@provost/core'

import { blobHash, isHash } from '../kit/blob-mentions.ts'
import { deliveryId } from '../kit/delivery-id.ts'
import { sessionErased, storeClosed } from '../kit/store-error.ts'
import { createPatience } from '../outage/patience.ts'
import { patientMethods } from '../outage/patient-store.ts'
import { freezeParsed } from '../text/entry-text.ts'
import { nameKey } from '../text/name-key.ts'
import { databaseAt, isTaken, postgresDatabase } from './postgres-database.ts'
import { isErased, keysOf, sweep, tombstoneOf } from './postgres-erasure.ts'
import { postgresLogs } from './postgres-log.ts'
import { deleteSession, listSessions } from './postgres-session.ts'
import { postgresSummaries } from './postgres-summary.ts'
import { postgresTransient } from './postgres-transient.ts'
import { noteMail, postgresWake } from './postgres-wake.ts'
import { watchPostgres } from './postgres-watch.ts'

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  /** Schema of the tables; default `provost`. Created at the first use, where the role has the right. */
  readonly schema?: string
  /** Connections at most, without the listening one while a session is watched; default 10. */
  readonly connections?: number
  /** Milliseconds in which a connection has to be made; default 2000. */
  readonly connectTimeoutMs?: number
  /**
   * Milliseconds in which a statement has to end, and to wait for a free connection; default 10,000. The statement is then
   * cancelled and its connection closed.
   */
  readonly queryTimeoutMs?: number
  /**
   * Milliseconds for which a run repeats its work with the store while the database is away; default 60,000. Then the run
   * stops without an end in its log, and a server or worker continues it. 0 never repeats. Lists, claims, deletions, and a
   * store that was never reached fail at once.
   */
  readonly patienceMs?: number
  /** Milliseconds between polls for lost notifications, while a session is watched; default 2000. */
  readonly pollMs?: number
  /**
   * Default: leases use the clock of the server, all other times that of the machine. All processes that use the schema need
   * the same.
   */
  readonly clock?: Clock
}

const optionKeys = {
  schema: true,
  connections: true,
  connectTimeoutMs: true,
  queryTimeoutMs: true,
  patienceMs: true,
  pollMs: true,
  clock: true,
} satisfies KnownKeys<PostgresStoreOptions>

/**
 * Returns a store in PostgreSQL (14 or later), for any number of processes on any number of machines. It connects and
 * migrates its tables at the first use. Leases use the server's clock. The server's `synchronous_commit` decides what a
 * commit survives. Needs the packages `pg` and `kysely`.
 *
 * @param url connection URL: `postgres://user:password@host:5432/database`.
 * @throws ProvostError from its methods: `missing-package`, `store-unreachable`, `store-unusable`, `newer-store`
 *
 * @example
 * const store = postgresStore('postgres://desk:secret@db.example/desk')
 * const agent = createAgent({ name: 'desk', model, store })
 */
export function postgresStore(url: string, options: PostgresStoreOptions = {}): SessionStore {
  checkOptions(options, optionKeys, 'postgresStore')
  const { schema = 'provost', connections = 10, connectTimeoutMs, queryTimeoutMs = 10_000, pollMs = 2_000 } = options
  const clock = clockOf(options)
  const pooling = { connections, queryTimeoutMs, ...(connectTimeoutMs !== undefined && { connectTimeoutMs }) }
  const database = postgresDatabase(url, schema, pooling)
  const timed = databaseAt(options.clock, database)
  const { t, channel, query } = database
  const watchers = watchPostgres(database, pollMs)
  const logs = postgresLogs(timed, watchers)
  let closed = false

  function assertOpen(): void {
    if (closed) throw storeClosed()
  }

  // The lock of one row numbers the deliveries of a session, so that they become visible in order.
  const deliverSql = `
    with head as (
      insert into ${t('inboxes')} as head (session, last)
      select $1, 1 where not exists (select from ${t('inbox')} where session = $1 and token = $2)
        and not ${isErased(t, '$4')}
      on conflict (session) do update set last = head.last + 1
      returning last
    ), put as (
      insert into ${t('inbox')} (session, seq, token, body) select $1, last, $2, $3 from head
    ), noted as (${noteMail(t)}
    )
    select pg_notify('${channel.replaceAll("'", "''")}', $1)::text from head`

  const store: SessionStore = {
    clock,
    place: () => ({ kind: 'postgres', url, schema }),
    transient: postgresTransient(database),
    summaries: postgresSummaries(database),
    lease: (...request) => logs.lease(...request),
    leaseState: (name) => logs.leaseState(name),
    releaseQuarantine: (sessionId) => logs.releaseQuarantine(sessionId),
    release: (name, fence) => logs.release(name, fence),

    async append(name, entries, at) {
      const appended = await logs.append(name, entries, at)
      // Wakes local watchers directly: this process receives its own notifications only once it listens.
      watchers.wake(name, 'log')
      return appended
    },

    read: (name, after = 0) => logs.read(name, after),

    async deliver(sessionId, token, value, by) {
      const body = JSON.stringify({ token, value, by, at: clock.now() })
      try {
        const accepted = await timed.query('provost-deliver', deliverSql, [
          nameKey(sessionId),
          nameKey(token),
          body,
          keysOf(sessionId),
        ])
        if (accepted.length === 0) {
          if (await tombstoneOf(database, sessionId)) throw sessionErased(sessionId)
          return 'duplicate'
        }
      } catch (error) {
        if (isTaken(error)) return 'duplicate'
        throw error
      }
      watchers.wake(sessionId, 'inbox')
      return 'accepted'
    },

    async *inbox(sessionId, after = '') {
      const text = `select seq, body from ${t('inbox')} where session = $1 and seq > $2 order by seq limit 256`
      for (let seq = after || '0'; ;) {
        const rows = await query('provost-inbox', text, [nameKey(sessionId), seq])
        if (rows.length === 0) return
        for (const [at, body] of rows) {
          seq = deliveryId(Number(at), 16)
          const delivery: Delivery = { id: seq, ...JSON.parse(String(body)) }
          freezeParsed(delivery)
          yield delivery
        }
      }
    },

    watch(sessionId, signal, of) {
      assertOpen()
      return watchers.watch(sessionId, signal, of)
    },

    async blob(hash) {
      assertOpen()
      if (!isHash(hash)) return undefined
      const [row] = await query('provost-blob', `select bytes from ${t('blobs')} where hash = $1`, [hash])
      return row?.[0] instanceof Uint8Array ? row[0] : undefined
    },

    async putBlob(bytes) {
      const hash = blobHash(bytes)
      const touch = `update ${t('blobs')} set put = clock_timestamp() where hash = $1 returning 1`
      if ((await query('provost-touch-blob', touch, [hash])).length > 0) return hash
      const insert = `insert into ${t('blobs')} (hash, bytes) values ($1, $2)
        on conflict (hash) do update set put = clock_timestamp()`
      await query('provost-put-blob', insert, [hash, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)])
      return hash
    },

    async *list(filter = {}) {
      const { limit = Number.POSITIVE_INFINITY } = filter
      let { after } = filter
      for (let left = limit; left > 0;) {
        const page = await listSessions(
          database,
          { ...filter, ...(after !== undefined && { after }) },
          Math.min(left, 256),
        )
        yield* page
        left -= page.length
        after = page.at(-1)?.id
        if (after === undefined) return
      }
    },

    ...postgresWake(timed),

    async delete(sessionId) {
      await deleteSession(database, sessionId)
      watchers.wake(sessionId)
    },

    async erase(sessionId, receipt) {
      const names = await deleteSession(database, sessionId, { at: clock.now(), receipt })
      // A lease or a delivery that began before the tombstone was visible may have added a row.
      for (const name of new Set([sessionId, ...names])) await deleteSession(database, name)
      watchers.wake(sessionId)
      return names
    },

    tombstone: (log) => tombstoneOf(database, log),
    sweep: (what) => sweep(database, what),

    async close() {
      if (closed) return
      closed = true
      await watchers.stop()
      await database.close()
    },
  }
  const { patienceMs = 60_000 } = options
  return checkedStore(patienceMs > 0 ? { ...store, ...patientMethods(store, createPatience(patienceMs)) } : store)
}
