import type { Clock } from '@provost/core'
import { isRecord } from '@provost/core'
import type { Kysely } from 'kysely'
import type { Client, Pool } from 'pg'

import { storeClosed } from '../kit/store-error.ts'
import { connectPostgres, loadPackage } from './postgres-connection.ts'
import type { PostgresConnectionOptions } from './postgres-connection.ts'
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
  /** Runs `work` with the query builder. */
  kysely<T>(work: (db: Kysely<PostgresTables>) => Promise<T>): Promise<T>
  /** Returns a separate client that is not connected yet. */
  client(): Promise<Client>
  close(): Promise<void>
}

const caller = 'postgresStore'
const packages = ['pg', 'kysely']

/** Returns a database. It loads the packages and connects at the first use. */
export function postgresDatabase(
  url: string,
  schema: string,
  pooling: Pick<PostgresConnectionOptions<unknown>, 'connections' | 'connectTimeoutMs' | 'queryTimeoutMs'>,
): PostgresDatabase {
  const { query, transaction, use, client, close } = connectPostgres({
    ...{ url, ...pooling, caller, packages, content: 'the store' },
    async prepare(pool, migrating) {
      const { Kysely: Db, PostgresDialect } = await loadPackage(() => import('kysely'), caller, packages)
      const dbOf = (one: Pool) =>
        new Db<PostgresTables>({ dialect: new PostgresDialect({ pool: one }) }).withSchema(schema)
      await migratePostgres(pool, dbOf(migrating), schema)
      return dbOf(pool)
    },
    closed: storeClosed,
  })
  return {
    t: tablesOf(schema),
    channel: `provost_${schema}`.slice(0, 63),
    query,
    transaction,
    kysely: (work) => use((_, db) => work(db)),
    client,
    close,
  }
}

/**
 * Returns the database with statements whose `clock_timestamp()` is the time of a clock; the same one without a clock. Other
 * times of a statement stay those of the server.
 */
export function databaseAt(clock: Clock | undefined, database: PostgresDatabase): PostgresDatabase {
  if (!clock) return database
  // The text differs each time, so the statement is not prepared under a name.
  const timed =
    (query: PostgresDatabase['query']): PostgresDatabase['query'] =>
    (_, text, values) =>
      query('', text.replaceAll('clock_timestamp()', `to_timestamp(${clock.now() / 1000}::float8)`), values)
  return {
    ...database,
    query: timed(database.query),
    transaction: (work) => database.transaction((query) => work(timed(query))),
  }
}

/** Whether an error reports a duplicate key. */
export function isTaken(error: unknown): boolean {
  return isRecord(error) && error['code'] === '23505'
}
