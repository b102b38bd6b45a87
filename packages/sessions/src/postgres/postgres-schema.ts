import { ProvostError, toErrorInfo } from '@provost/core'
import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Pool } from 'pg'

import { newerStore } from '../kit/store-error.ts'

/** The tables as the query builder sees them. */
export interface PostgresTables {
  logs: {
    no: string
    key: string
    fence: string
    owner: string | null
    tail: number
    updated_at: string | null
    kind: string | null
    origin: string | null
    principal: string | null
    status: string | null
    quarantined: Date | null
    agent: string | null
    due_at: string | null
    mail: string
  }
  entries: { log: string; offset: number; id: string; body: string }
  inbox: { session: string; seq: string; token: string; body: string }
  inboxes: { session: string; last: string }
  blobs: { hash: string; put: Date; bytes: Buffer }
  mentions: { hash: string; log: string; at: Date }
}

/** Returns the quoted name of a table for hand-written SQL. */
export type TableName = (
  table: keyof PostgresTables | 'fences' | 'migrations' | 'passing' | 'erased' | 'summaries',
) => string

export function tablesOf(schema: string): TableName {
  const quoted = `"${schema.replaceAll('"', '""')}"`
  return (table) => `${quoted}.${table}`
}

/** Each migration raises the version by one. Migrations are only added, never edited. Their names define their order. */
const migrations: Readonly<Record<string, (t: TableName) => string>> = {
  // Each append updates a row of logs: free space on its page keeps the new row version there.
  '0001_begin': (t) => `
    create sequence ${t('fences')};
    create table ${t('logs')} (
      no bigint generated always as identity primary key,
      key text collate "C" not null unique,
      fence bigint not null default 0,
      owner text,
      until timestamptz,
      tail integer not null default 0,
      updated_at bigint,
      kind text,
      origin text,
      principal text collate "C",
      status text,
      watched_until timestamptz
    ) with (fillfactor = 60);
    create index on ${t('logs')} (principal, key) where kind = 'session';
    create table ${t('entries')} (
      log bigint not null,
      "offset" integer not null,
      id text collate "C" not null,
      body text not null,
      primary key (log, "offset"),
      unique (log, id)
    );
    -- Long texts take seconds with the old compression. Servers that were built without the new one keep the old.
    do $$ begin
      alter table ${t('entries')} alter column body set compression lz4;
    exception when feature_not_supported then null;
    end $$;
    create table ${t('inboxes')} (session text collate "C" primary key, last bigint not null);
    create table ${t('inbox')} (
      session text collate "C" not null,
      seq bigint not null,
      token text collate "C" not null,
      body text not null,
      primary key (session, seq),
      unique (session, token)
    );
    create table ${t('blobs')} (
      hash text collate "C" primary key,
      put timestamptz not null default clock_timestamp(),
      bytes bytea not null
    );
    create table ${t('mentions')} (
      hash text collate "C" not null,
      log bigint not null,
      at timestamptz not null default clock_timestamp(),
      primary key (hash, log)
    );
    create index on ${t('mentions')} (log);`,
  // Unlogged: transient events are void after a crash.
  '0002_passing': (t) => `
    create unlogged table ${t('passing')} (
      log text collate "C" not null,
      "at" integer not null,
      first integer not null,
      last integer not null,
      count bigint not null,
      length bigint not null,
      own integer not null,
      body text not null,
      primary key (log, "at", first)
    );`,
  '0003_begun': (t) => `alter table ${t('logs')} add column begun timestamptz;`,
  '0004_status': (t) => `create index on ${t('logs')} (status, key) where kind = 'session';`,
  '0005_takeovers': (t) => `
    alter table ${t('logs')} add column takeovers integer not null default 0, add column quarantined timestamptz;`,
  // An earlier release did not record when a session is due: each open one is looked at once.
  '0006_wake': (t) => `
    alter table ${t('logs')} add column agent text collate "C", add column due_at bigint,
      add column mail bigint not null default 0;
    update ${t('logs')} as l set agent = origin::json ->> 'agent',
      mail = coalesce((select last from ${t('inboxes')} where session = l.key), 0),
      due_at = case when status in ('running', 'suspended') and quarantined is null then 0 end
      where kind = 'session';
    create index on ${t('logs')} (agent, due_at) where due_at is not null;
    create index on ${t('logs')} (key) where quarantined is not null;`,
  '0007_erased': (t) => `
    create table ${t('erased')} (key text collate "C" primary key, "at" bigint not null, receipt text not null);`,
  // A cache: a session without a row gets one by a fold of its log. Each change of a session updates its row.
  '0008_summaries': (t) => `
    create table ${t('summaries')} (
      log bigint primary key,
      key text collate "C" not null,
      updated bigint not null,
      title text not null,
      rules text not null,
      waiting integer not null,
      state text not null,
      change xid8 not null default pg_current_xact_id()
    ) with (fillfactor = 70);
    create index on ${t('summaries')} (updated, key);
    create index on ${t('summaries')} (change);
    create index on ${t('summaries')} (key) where waiting > 0;`,
}

const latest = Object.keys(migrations).at(-1)

/**
 * Migrates a schema to this version. Any number of processes may do so at once: an advisory lock serializes them.
 *
 * @throws ProvostError `newer-store`, `store-unusable`
 */
export async function migratePostgres(pool: Pool, db: Kysely<PostgresTables>, schema: string): Promise<void> {
  // A current schema is recognized with one query, which needs no right to create objects.
  if ((await migratedTo(pool, schema)) === latest) return
  const [{ Migrator }, { sql }] = await Promise.all([import('kysely/migration'), import('kysely')])
  const t = tablesOf(schema)
  const steps = Object.entries(migrations).map(([name, ddl]): [string, Migration] => [
    name,
    { up: async (target) => void (await sql.raw(ddl(t)).execute(target)) },
  ])
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => Object.fromEntries(steps) },
    migrationTableSchema: schema,
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
  })
  const { error } = await migrator.migrateToLatest()
  if (!error) return
  const version = await migratedTo(pool, schema)
  if (version !== undefined && latest !== undefined && version > latest) {
    throw newerStore(`The schema ${schema}`, Number.parseInt(version, 10), Number.parseInt(latest, 10))
  }
  const why = toErrorInfo(error).message
  throw new ProvostError('store-unusable', `The schema ${schema} cannot be migrated: ${why}.`, {
    hint: 'Permit the role of the URL to create the schema, or give a schema that it owns.',
    cause: error,
  })
}

async function migratedTo(pool: Pool, schema: string): Promise<string | undefined> {
  const t = tablesOf(schema)
  const there = await pool.query({ text: 'select to_regclass($1) as name', values: [t('migrations')] })
  if (!there.rows[0]?.name) return undefined
  const { rows } = await pool.query({ text: `select max(name) as name from ${t('migrations')}` })
  return rows[0]?.name ?? undefined
}
