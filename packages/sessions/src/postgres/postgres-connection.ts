import { checkOptions, ProvostError } from '@provost/core'
import type { KnownKeys } from '@provost/core'
import type { Client, ClientConfig, Pool, PoolClient, PoolConfig } from 'pg'

import { postgresError, postgresFault } from './postgres-error.ts'

/** Runs a statement; rows are arrays. With a name, it is prepared once for each connection. */
export type PostgresQuery = (
  name: string | undefined,
  text: string,
  values: readonly unknown[],
) => Promise<readonly (readonly unknown[])[]>

/** A database that is connected and prepared at its first use. */
export interface PostgresConnection<T> {
  readonly query: PostgresQuery
  /** Runs `work` in a transaction on one connection. A rejection rolls back. */
  transaction<R>(work: (query: PostgresQuery) => Promise<R>): Promise<R>
  /** Runs `work` with the pool and what `prepare` returned. */
  use<R>(work: (pool: Pool, prepared: T) => Promise<R>): Promise<R>
  /** Returns a separate client that is not connected yet. */
  client(): Promise<Client>
  /** Closes all connections but those of {@link client}. Later calls reject with the error `closed`. */
  close(): Promise<void>
}

/** Options of {@link connectPostgres}. */
export interface PostgresConnectionOptions<T> {
  /** As in `postgres://user:password@host:5432/database`. */
  readonly url: string
  /** Connections of the pool at most. */
  readonly connections: number
  /** Milliseconds in which a connection has to be made; default 2000. */
  readonly connectTimeoutMs?: number
  /**
   * Milliseconds in which a statement has to end, and to wait for a free connection; its connection is then closed. The
   * server cancels it too. Default: no limit.
   */
  readonly queryTimeoutMs?: number
  /** The public function that connects, and the packages that it loads, for the error `missing-package`. */
  readonly caller: string
  readonly packages: readonly string[]
  /** What the database keeps, for errors: `the store`. */
  readonly content: string
  /**
   * Creates or migrates the tables. Runs before the first statement, and again at the next use where it rejects.
   *
   * @param migrating a pool without time limits, for statements that take long. It ends with this call.
   */
  prepare(pool: Pool, migrating: Pool): Promise<T>
  /** Returns the error of a use after `close`. */
  closed(): ProvostError
}

const optionKeys = {
  url: true,
  connections: true,
  connectTimeoutMs: true,
  queryTimeoutMs: true,
  caller: true,
  packages: true,
  content: true,
  prepare: true,
  closed: true,
} satisfies KnownKeys<PostgresConnectionOptions<unknown>>

/**
 * Returns a connection to PostgreSQL for a store. It loads the package `pg` and connects at the first use. A lost connection
 * fails its statement with a retryable error and is replaced at the next one.
 *
 * @throws ProvostError from its methods: `missing-package`, `store-unreachable`, `store-unusable`, `store-full`, and errors of
 *   `prepare`
 *
 * @example
 * const { query, close } = connectPostgres({
 *   ...{ url, connections: 5, caller: 'auditStore', packages: ['pg'], content: 'the audit log' },
 *   prepare: async (pool) => void (await pool.query('create table if not exists audit (body text not null)')),
 *   closed: storeClosed,
 * })
 * await query('insert-audit', 'insert into audit values ($1)', [body])
 */
export function connectPostgres<T>(options: PostgresConnectionOptions<T>): PostgresConnection<T> {
  checkOptions(options, optionKeys, 'connectPostgres')
  const { url, connections, caller, packages, content, connectTimeoutMs = 2_000, queryTimeoutMs } = options
  let opening: Promise<Connected<T>> | undefined
  let closed = false

  const fail = (error: unknown): never => {
    // Connections to a replica reach the primary server only if they are made anew.
    if (postgresFault(error) === 'read-only') dropIdle()
    throw postgresError(content, error)
  }

  /** Closes the idle connections. The pool closes the others when their statements fail. */
  function dropIdle(): void {
    const drop = ({ pool }: Connected<T>): void => {
      for (let n = pool.idleCount; n > 0; n--) pool.connect().then((client) => client.release(true), ignored)
    }
    opening?.then(drop, ignored)
  }

  async function open(): Promise<Connected<T>> {
    const { Pool: PgPool, Client: PgClient } = await loadPackage(() => import('pg'), caller, packages)
    const dial = { connectionString: url, keepAlive: true, connectionTimeoutMillis: connectTimeoutMs }
    // The limit of the pool is longer: it also covers the wait for a free connection.
    class Dialled extends PgClient {
      constructor(config?: ClientConfig) {
        super({ ...config, connectionTimeoutMillis: connectTimeoutMs })
      }
    }
    const pool = new PgPool({
      ...dial,
      max: connections,
      allowExitOnIdle: true,
      Client: Dialled,
      connectionTimeoutMillis: queryTimeoutMs ?? 0,
      ...(queryTimeoutMs !== undefined && { query_timeout: queryTimeoutMs, verify: limitTimes(queryTimeoutMs) }),
    })
    const migrating = new PgPool({ ...dial, max: 2 })
    for (const one of [pool, migrating]) {
      // The pool replaces a broken idle connection at the next use.
      one.on('error', () => {})
      // A broken connection fails its query. Without a listener, the error event would also end the process.
      one.on('connect', (client) => client.on('error', () => {}))
    }
    try {
      const prepared = await options.prepare(pool, migrating)
      return { pool, prepared, newClient: () => new PgClient(dial) }
    } catch (error) {
      await pool.end()
      throw error
    } finally {
      await migrating.end()
    }
  }

  async function connected(): Promise<Connected<T>> {
    if (closed) throw options.closed()
    opening ??= open()
    try {
      return await opening
    } catch (error) {
      // The next attempt may reach the server.
      opening = undefined
      return fail(error)
    }
  }

  /** @param repeats whether a statement is its own transaction, which can be repeated. */
  const queryOn =
    (client: Pool | PoolClient, repeats: boolean): PostgresQuery =>
    async (name, text, values) => {
      for (let attempt = 1; ; attempt++) {
        try {
          const { rows } = await client.query<unknown[]>({ name, text, values: [...values], rowMode: 'array' })
          return rows
        } catch (error) {
          // A transaction that failed cannot continue.
          if (repeats && attempt <= mostConflicts && postgresFault(error) === 'conflict') continue
          return fail(error)
        }
      }
    }

  return {
    query: async (name, text, values) => queryOn((await connected()).pool, true)(name, text, values),

    async transaction(work) {
      const { pool } = await connected()
      const client = await pool.connect().catch(fail)
      let broken = false
      try {
        await client.query('begin')
        const result = await work(queryOn(client, false))
        await client.query('commit')
        return result
      } catch (error) {
        // A connection whose statement did not end has no place for another one.
        broken = isAway(error)
        if (!broken) await client.query('rollback').catch(() => (broken = true))
        return fail(error)
      } finally {
        client.release(broken)
      }
    },

    async use(work) {
      const { pool, prepared } = await connected()
      return work(pool, prepared).catch(fail)
    },

    client: async () => (await connected()).newClient(),

    async close() {
      if (closed) return
      closed = true
      const last = await opening?.catch(() => undefined)
      await last?.pool.end()
    },
  }
}

/** Returns a function that sets the limits of a new connection. Statements do it: poolers reject such parameters. */
function limitTimes(ms: number): NonNullable<PoolConfig['verify']> {
  const limits = `set statement_timeout = ${ms}; set lock_timeout = ${Math.ceil(ms / 2)};
    set idle_in_transaction_session_timeout = ${ms}`
  return (client, done) => {
    client.query(limits).then(
      () => done(),
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
    )
  }
}

const ignored = (): void => {}

/** Repetitions of a statement that was in the way of another transaction. */
const mostConflicts = 3

function isAway(error: unknown): boolean {
  const cause = error instanceof ProvostError ? error.cause : error
  return ['away', 'read-only'].includes(postgresFault(cause))
}

interface Connected<T> {
  readonly pool: Pool
  readonly prepared: T
  readonly newClient: () => Client
}

/**
 * Imports an optional package.
 *
 * @throws ProvostError `missing-package`, naming all packages that the caller needs.
 */
export async function loadPackage<M>(load: () => Promise<M>, caller: string, packages: readonly string[]): Promise<M> {
  try {
    return await load()
  } catch (cause) {
    const noun = packages.length === 1 ? 'package' : 'packages'
    throw new ProvostError('missing-package', `${caller} needs the ${noun} ${packages.join(' and ')}.`, {
      hint: `Run: npm install ${packages.join(' ')}`,
      cause,
    })
  }
}
