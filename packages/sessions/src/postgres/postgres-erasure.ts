import type { SweepOptions, Tombstone } from '@provost/core'

import { erasableNames } from '../text/erasable-names.ts'
import { nameKey } from '../text/name-key.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import type { TableName } from './postgres-schema.ts'

type Query = PostgresDatabase['query']

/** Returns the names of which one has a tombstone if a log is erased, as a value for {@link isErased}. */
export const keysOf = (log: string): readonly string[] =>
  erasableNames(log).flatMap((name) => (name === undefined ? [] : [nameKey(name)]))

/** Whether one of the names in a parameter has a tombstone. */
export const isErased = (t: TableName, parameter: string): string =>
  `exists (select from ${t('erased')} as e where e.key = any(${parameter}::text[]))`

/** Returns the tombstone of a log, or of the session that it belongs to. */
export async function tombstoneOf({ t, query }: PostgresDatabase, log: string): Promise<Tombstone | undefined> {
  const text = `select "at", receipt from ${t('erased')} where key = any($1::text[]) limit 1`
  const [row] = await query('provost-tombstone', text, [keysOf(log)])
  return row && { at: Number(row[0]), receipt: String(row[1]) }
}

/** Adds a tombstone for each name that has none. Runs in the transaction that removes the logs. */
export async function addTombstones(
  t: TableName,
  run: Query,
  names: readonly string[],
  { at, receipt }: Tombstone,
): Promise<void> {
  const text = `insert into ${t('erased')} select key, $2::bigint, $3 from unnest($1::text[]) as n (key) on conflict do nothing`
  await run('provost-erase', text, [[...new Set(names.map((name) => nameKey(name)))], at, receipt])
}

/** Removes blobs that no log mentions, and copies of deleted rows. @returns the number of blobs. */
export async function sweep({ t, query }: PostgresDatabase, { putBefore, traces }: SweepOptions): Promise<number> {
  const text = `delete from ${t('blobs')} as b where b.put < to_timestamp($1::float8 / 1000)
    and not exists (select from ${t('mentions')} as m where m.hash = b.hash) returning 1`
  const { length } = await query('provost-sweep', text, [putBefore])
  // It removes deleted rows from the tables and their indexes.
  const tables = (['logs', 'entries', 'inbox', 'inboxes', 'blobs', 'mentions', 'passing'] as const).map(t).join(', ')
  if (traces) await query('', `vacuum ${tables}`, [])
  return length
}
