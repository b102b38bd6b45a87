import { checkOptions, isRecord, ProvostError, toErrorInfo } from '@provost/core'
import type { KnownKeys } from '@provost/core'
import type { Client, Pool, PoolClient } from 'pg'

import { diskError } from '../kit/store-error.ts'

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
  /** The public function that connects, and the packages that it loads, for the error `missing-package`. */
  readonly caller: string
  readonly packages: readonly string[]
  /** What the database keeps, for errors: `the store`. */
  readonly content: string
  /** Creates or migrates the tables. Runs before the first statement, and again at the next use where it rejects. */
  prepare(pool: Pool): Promise<T>
  /** Returns the error of a use after `close`. */
  closed(): ProvostError
}

const optionKeys = {
  url: true,
  connections: true,
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
  const { url, connections, caller, packages, content } = options
  let opening: Promise<Connected<T>> | undefined
  let closed = false

  const fail = (error: unknown): never => {
    throw connectionError(content, error)
  }

  async function open(): Promise<Connected<T>> {
    const { Pool: PgPool, Client: PgClient } = await loadPackage(() => import('pg'), caller, packages)
    const pool = new PgPool({ connectionString: url, max: connections, allowExitOnIdle: true })
    // The pool replaces a broken idle connection at the next use.
    pool.on('error', () => {})
    // A broken connection fails its query. Without a listener, the error event would also end the process.
    pool.on('connect', (client) => client.on('error', () => {}))
    try {
      const prepared = await options.prepare(pool)
      return { pool, prepared, newClient: () => new PgClient({ connectionString: url }) }
    } catch (error) {
      await pool.end()
      throw error
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

  const queryOn =
    (client: Pool | PoolClient): PostgresQuery =>
    async (name, text, values) => {
      try {
        const { rows } = await client.query<unknown[]>({ name, text, values: [...values], rowMode: 'array' })
        return rows
      } catch (error) {
        return fail(error)
      }
    }

  return {
    query: async (name, text, values) => queryOn((await connected()).pool)(name, text, values),

    async transaction(work) {
      const { pool } = await connected()
      const client = await pool.connect().catch(fail)
      let broken = false
      try {
        await client.query('begin')
        const result = await work(queryOn(client))
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback').catch(() => (broken = true))
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

/** Converts connection errors to retryable ProvostErrors. Errors of statements stay as they are. */
function connectionError(content: string, error: unknown): unknown {
  const code = isRecord(error) ? error['code'] : ''
  const lost =
    (typeof code === 'string' && /^(?:E[A-Z]{3,}|08\w{3}|57P0[1-3])$/.test(code)) ||
    (error instanceof Error && error.message.startsWith('Connection terminated'))
  const why = toErrorInfo(error).message
  // An unknown database, user or password.
  if (typeof code === 'string' && /^(?:3D|28)\w{3}$/.test(code)) {
    return new ProvostError('store-unusable', `The database of ${content} rejects the connection: ${why}.`, {
      hint: 'Check the user, the password and the name of the database in the URL.',
      cause: error,
    })
  }
  if (!lost || error instanceof ProvostError) return diskError(`the database of ${content}`, error)
  return new ProvostError('store-unreachable', `The database of ${content} is not reachable: ${why}.`, {
    hint: 'Check that the server runs and that the URL is right.',
    cause: error,
    retryable: true,
  })
}
