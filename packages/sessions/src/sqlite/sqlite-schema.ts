import type { DatabaseSync } from 'node:sqlite'

import { ProvostError } from '@provost/core'

import { newerStore } from '../kit/store-error.ts'

/** Marks a file as a store of this package. */
const applicationId = 0x50_52_56_53

/**
 * Offsets of one log in the key space that all entries share. A log is a range of adjacent keys in one B-tree. An append
 * touches one page and no second index, and reading a log is one scan.
 */
export const logSpan: number = 2 ** 24

/** Each migration raises the version by one. Migrations are only added, never edited. */
const migrations: readonly string[] = [
  `
  create table fences (last integer not null);
  insert into fences values (0);
  create table logs (
    no integer primary key autoincrement,
    key text not null unique,
    fence integer,
    owner text,
    until integer not null default 0,
    kind text,
    origin text,
    principal text,
    status text
  );
  create index logs_by_principal on logs (principal, key) where kind = 'session';
  create table entries (place integer primary key, body text not null);
  create table inbox (
    seq integer primary key autoincrement,
    session text not null,
    token text not null,
    body text not null,
    unique (session, token)
  );
  create index inbox_by_session on inbox (session, seq);
  create table blobs (hash text primary key, put integer not null, bytes blob not null);
  create table mentions (hash text not null, log integer not null, at integer not null, primary key (hash, log)) without rowid;
  create index mentions_by_log on mentions (log);
  `,
  `
  create table passing (
    log text not null,
    at integer not null,
    first integer not null,
    last integer not null,
    count integer not null,
    length integer not null,
    body text not null,
    primary key (log, at, first)
  ) without rowid;
  `,
  'alter table logs add column begun integer;',
  `create index if not exists logs_by_status on logs (status, key) where kind = 'session';`,
  `
  alter table logs add column takeovers integer not null default 0;
  alter table logs add column quarantined integer;
  `,
  // An earlier release did not record when a session is due: each open one is looked at once.
  `
  alter table logs add column agent text;
  alter table logs add column due_at integer;
  alter table logs add column mail integer not null default 0;
  update logs set agent = json_extract(origin, '$.agent'),
    mail = coalesce((select max(seq) from inbox where session = logs.key), 0) where kind = 'session';
  update logs set due_at = 0 where kind = 'session' and status in ('running', 'suspended') and quarantined is null;
  create index logs_due on logs (agent, due_at) where due_at is not null;
  create index logs_quarantined on logs (key) where quarantined is not null;
  `,
  'create table erased (key text primary key, at integer not null, receipt text not null) without rowid;',
  // A cache: a session without a row gets one by a fold of its log.
  `
  create table summaries (
    log integer primary key,
    key text not null,
    updated integer not null,
    title text not null,
    rules text not null,
    waiting integer not null,
    state text not null,
    change integer not null
  );
  create index summaries_by_update on summaries (updated, key);
  create index summaries_by_change on summaries (change);
  create index summaries_waiting on summaries (key) where waiting > 0;
  create table changes (last integer not null);
  insert into changes values (0);
  `,
]

/**
 * Migrates the schema to this version. Any number of processes may do so at once.
 *
 * @throws ProvostError `newer-store`, or `not-a-store` for the database of another application.
 */
export function migrateSqlite(db: DatabaseSync, path: string): void {
  if (versionOf(db) === migrations.length && isOurs(db)) return
  db.exec('begin immediate')
  try {
    const version = versionOf(db)
    if (version > migrations.length) throw newerStore(`The store ${path}`, version, migrations.length)
    if (!isOurs(db)) {
      if (version > 0 || !isEmpty(db)) throw notOurs(path)
      db.exec(`pragma application_id = ${applicationId}`)
    }
    for (const step of migrations.slice(version)) db.exec(step)
    db.exec(`pragma user_version = ${migrations.length}`)
    db.exec('commit')
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('pragma user_version').get()?.['user_version'])
}

function isOurs(db: DatabaseSync): boolean {
  return Number(db.prepare('pragma application_id').get()?.['application_id']) === applicationId
}

function isEmpty(db: DatabaseSync): boolean {
  return db.prepare('select 1 from sqlite_master limit 1').get() === undefined
}

function notOurs(path: string): ProvostError {
  return new ProvostError('not-a-store', `${path} is the database of another application.`, {
    hint: 'Give the store a separate file.',
  })
}
