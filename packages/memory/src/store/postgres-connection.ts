import { isRecord, ProvostError, toErrorInfo } from '@provost/core'
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

/** Prepares to connect; nothing is loaded before the first use. */
export function postgresLink(url: string, schema: string, connections: number): PostgresLink {
  let opening: Promise<Pool> | undefined
  let closed = false

  async function open(): Promise<Pool> {
    const { Pool: PgPool } = await load()
    const pool = new PgPool({ connectionString: url, max: connections, allowExitOnIdle: true })
    // The pool replaces a broken idle connection at the next use.
    pool.on('error', () => {})
    try {
      await prepare(pool, schema)
      return pool
    } catch (error) {
      await pool.end()
      throw error
    }
  }

  async function connected(): Promise<Pool> {
    if (closed) throw storeClosed()
    opening ??= open()
    try {
      return await opening
    } catch (error) {
      // Reset, so that the next call connects again.
      opening = undefined
      throw wrapped(error)
    }
  }

  const on =
    (client: Pool | PoolClient): Query =>
    async (text, ...values) => {
      try {
        return (await client.query<unknown[]>({ text, values: [...values], rowMode: 'array' })).rows
      } catch (error) {
        throw wrapped(error)
      }
    }

  return {
    query: async (text, ...values) => on(await connected())(text, ...values),
    async inMemory(text) {
      const client = await connected()
      const set = 'set local seq_page_cost = 0.02; set local random_page_cost = 0.02'
      try {
        // One message, and so one transaction, which the settings end with. The types do not know that results are many.
        const results: unknown = await client.query<unknown[]>({ text: `${set}; ${text}`, rowMode: 'array' })
        const last: unknown = Array.isArray(results) ? results.at(-1) : undefined
        const rows: unknown = isRecord(last) ? last['rows'] : undefined
        return Array.isArray(rows) ? rows.filter((row) => Array.isArray(row)) : []
      } catch (error) {
        throw wrapped(error)
      }
    },
    async transaction(work) {
      const client = await (await connected()).connect()
      let broken = false
      try {
        await client.query('begin')
        const result = await work(on(client))
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback').catch(() => (broken = true))
        throw wrapped(error)
      } finally {
        client.release(broken)
      }
    },
    async close() {
      if (closed) return
      closed = true
      const pool = await opening?.catch(() => undefined)
      await pool?.end()
    },
  }
}

async function load(): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (cause) {
    throw new ProvostError('missing-package', 'postgresMemory needs the package pg.', {
      hint: 'Install it: npm install pg',
      cause,
    })
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

/** Wraps connection errors, which are retryable. Errors of a statement are returned unchanged. */
function wrapped(error: unknown): unknown {
  const code = isRecord(error) ? error['code'] : ''
  const lost =
    (typeof code === 'string' && /^(?:E[A-Z]{3,}|08\w{3}|57P0[1-3])$/.test(code)) ||
    (error instanceof Error && error.message.startsWith('Connection terminated'))
  if (!lost || error instanceof ProvostError) return error
  const why = toErrorInfo(error).message
  return new ProvostError('store-unreachable', `The database of the memory cannot be reached: ${why}.`, {
    hint: 'Check that the server runs and that the URL is right.',
    cause: error,
    retryable: true,
  })
}
