import { isRecord, ProvostError, toErrorInfo } from '@provost/core'
import type { Kysely } from 'kysely'
import type { Client, Pool, PoolClient } from 'pg'

import { inWords, storeClosed } from '../kit/store-error.ts'
import { migratePostgres, tablesOf } from './postgres-schema.ts'
import type { PostgresTables, TableName } from './postgres-schema.ts'

export type Value = string | number | boolean | null | Uint8Array | readonly string[]
export type Row = readonly unknown[]

/** A database with its tables, connected at its first use. */
export interface PostgresDatabase {
  readonly t: TableName
  /** Channel that notifies the stores of the same tables. */
  readonly channel: string
  /** Runs a statement, prepared under its name once for each connection; rows are arrays. */
  query(name: string, text: string, values: readonly Value[]): Promise<readonly Row[]>
  /** Runs `work` in a transaction. */
  transaction<T>(work: (query: PostgresDatabase['query']) => Promise<T>): Promise<T>
  kysely(): Promise<Kysely<PostgresTables>>
  /** Returns a separate client that is not connected yet. */
  client(): Promise<Client>
  close(): Promise<void>
}

interface Connected {
  readonly pool: Pool
  readonly db: Kysely<PostgresTables>
  readonly newClient: () => Client
}

/** Returns a database. It loads the packages and connects at the first use. */
export function postgresDatabase(url: string, schema: string, connections: number): PostgresDatabase {
  let opening: Promise<Connected> | undefined
  let closed = false

  async function open(): Promise<Connected> {
    const [{ Pool: PgPool, Client: PgClient }, { Kysely: Db, PostgresDialect }] = await load()
    const pool = new PgPool({ connectionString: url, max: connections, allowExitOnIdle: true })
    // The pool replaces a broken idle connection at the next use.
    pool.on('error', () => {})
    // A broken connection fails its query. Without a listener, the error event would also end the process.
    pool.on('connect', (client) => client.on('error', () => {}))
    const db = new Db<PostgresTables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema)
    try {
      await migratePostgres(pool, db, schema)
    } catch (error) {
      await pool.end()
      throw error
    }
    return { pool, db, newClient: () => new PgClient({ connectionString: url }) }
  }

  async function connected(): Promise<Connected> {
    if (closed) throw storeClosed()
    opening ??= open()
    try {
      return await opening
    } catch (error) {
      // The next attempt may reach the server.
      opening = undefined
      throw wrapped(error)
    }
  }

  const runOn =
    (client: Pool | PoolClient): PostgresDatabase['query'] =>
    async (name, text, values) => {
      try {
        const { rows } = await client.query<unknown[]>({ name, text, values: [...values], rowMode: 'array' })
        return rows
      } catch (error) {
        throw wrapped(error)
      }
    }

  return {
    t: tablesOf(schema),
    channel: `provost_${schema}`.slice(0, 63),
    query: async (name, text, values) => runOn((await connected()).pool)(name, text, values),

    async transaction(work) {
      const { pool } = await connected()
      const client = await pool.connect().catch((error: unknown) => {
        throw wrapped(error)
      })
      let broken = false
      try {
        await client.query('begin')
        const result = await work(runOn(client))
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback').catch(() => (broken = true))
        throw wrapped(error)
      } finally {
        client.release(broken)
      }
    },

    kysely: async () => (await connected()).db,
    client: async () => (await connected()).newClient(),

    async close() {
      if (closed) return
      closed = true
      const last = await opening?.catch(() => undefined)
      await last?.pool.end()
    },
  }
}

async function load(): Promise<[typeof import('pg'), typeof import('kysely')]> {
  try {
    return await Promise.all([import('pg'), import('kysely')])
  } catch (cause) {
    throw new ProvostError('missing-package', 'postgresStore needs the packages pg and kysely.', {
      hint: 'Install them: npm install pg kysely',
      cause,
    })
  }
}

/** Whether an error reports a duplicate key. */
export function isTaken(error: unknown): boolean {
  return isRecord(error) && error['code'] === '23505'
}

/** Converts connection errors to retryable ProvostErrors. Errors of statements stay as they are. */
export function wrapped(error: unknown): unknown {
  const code = isRecord(error) ? error['code'] : ''
  const lost =
    (typeof code === 'string' && /^(?:E[A-Z]{3,}|08\w{3}|57P0[1-3])$/.test(code)) ||
    (error instanceof Error && error.message.startsWith('Connection terminated'))
  if (!lost || error instanceof ProvostError) return inWords('the database of the store', error)
  return new ProvostError(
    'store-unreachable',
    `The database of the store is not reachable: ${toErrorInfo(error).message}.`,
    {
      hint: 'Check that the server runs and that the URL is right.',
      cause: error,
      retryable: true,
    },
  )
}
