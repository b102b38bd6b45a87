import { isRecord } from '@provost/core'
import { connectPostgres } from '@provost/sessions/postgres'
import type { PostgresQuery } from '@provost/sessions/postgres'
import type { Pool, PoolClient } from 'pg'

import { newerStore, storeClosed } from './memory-error.ts'

export type Query = (text: string, ...values: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>

/** A database that connects at its first use. */
export interface PostgresLink {
  readonly query: Query
  /** A statement without values, planned for rows that are in memory: reading any costs the same. */
  inMemory(text: string): Promise<readonly (readonly unknown[])[]>
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const version = 1

/** The names of the tables, quoted. */
export interface Tables {
  readonly shelves: string
  readonly items: string
  readonly vectors: string
  readonly meta: string
  readonly name: string
}

export function tables(schema: string): Tables {
  const name = `"${schema.replaceAll('"', '""')}"`
  const [shelves, items] = [`${name}.shelves`, `${name}.items`]
  return { shelves, items, vectors: `${name}.vectors`, meta: `${name}.meta`, name }
}

function schemaOf(t: Tables): string {
  return `
    create schema if not exists ${t.name};
    create table ${t.meta} (version integer not null);
    insert into ${t.meta} values (${version});
    create table ${t.shelves} (
      no integer generated always as identity primary key, scope text collate "C" not null, kind text not null,
      state text not null, items integer not null default 0, terms bigint not null default 0, unique (scope, kind, state)
    );
    create table ${t.items} (
      no bigint generated always as identity primary key, id text collate "C" not null unique, shelf integer not null,
      text text not null, terms text not null, label text not null, source text not null, at bigint not null,
      valid_from bigint not null, valid_to bigint, key text collate "C", superseded_by text collate "C",
      session text collate "C", turn integer, speaker text, confirmed_by text, replaces text, posted tsvector not null
    );
    create index on ${t.items} using gin (posted) with (fastupdate = off);
    create index on ${t.items} (shelf, no);
    create index on ${t.items} (session, turn) where session is not null;
    create index on ${t.items} (shelf, key) where key is not null;
    create index on ${t.items} (superseded_by) where superseded_by is not null;
    create table ${t.vectors} (no bigint primary key, model text not null, bytes bytea);`
}

/** Returns a database. It loads the package and connects at the first use. */
export function postgresLink(url: string, schema: string, connections: number): PostgresLink {
  const { query, transaction, use, close } = connectPostgres({
    ...{ url, connections, caller: 'postgresMemory', packages: ['pg'], content: 'the memory' },
    prepare: (pool) => prepare(pool, schema),
    closed: storeClosed,
  })
  const unnamed =
    (run: PostgresQuery): Query =>
    (text, ...values) =>
      run(undefined, text, values)

  return {
    query: unnamed(query),
    inMemory: (text) =>
      use(async (pool) => {
        const set = 'set local seq_page_cost = 0.02; set local random_page_cost = 0.02'
        // One message is one transaction, with which the settings end. The types lack its list of results.
        const results: unknown = await pool.query<unknown[]>({ text: `${set}; ${text}`, rowMode: 'array' })
        const last: unknown = Array.isArray(results) ? results.at(-1) : undefined
        const rows: unknown = isRecord(last) ? last['rows'] : undefined
        return Array.isArray(rows) ? rows.filter((row) => Array.isArray(row)) : []
      }),
    transaction: (work) => transaction((run) => work(unnamed(run))),
    close,
  }
}

async function prepare(pool: Pool, schema: string): Promise<void> {
  const t = tables(schema)
  const found = async (client: Pool | PoolClient): Promise<number | undefined> => {
    const there = await client.query({ text: 'select to_regclass($1) as name', values: [t.meta] })
    if (!there.rows[0]?.name) return undefined
    return Number((await client.query(`select version from ${t.meta}`)).rows[0]?.version)
  }
  const known = await found(pool)
  if (known !== undefined && known > version) throw newerStore(schema, known, version)
  if (known !== undefined) return
  const client = await pool.connect()
  const lock = `(hashtext('provost memory'))`
  try {
    // Lock out other starting processes. The transaction begins after the lock, so that it sees their changes.
    await client.query(`select pg_advisory_lock${lock}`)
    await client.query('begin')
    if ((await found(client)) === undefined) await client.query(schemaOf(t))
    await client.query('commit')
    await client.query(`select pg_advisory_unlock${lock}`)
    client.release()
  } catch (error) {
    // Closing the connection releases the lock.
    client.release(true)
    throw error
  }
}
