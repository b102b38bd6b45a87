import type { SweepOptions, Tombstone } from '@provost/core'
import { ProvostError } from '@provost/core'

import { erasableNames } from '../text/erasable-names.ts'
import { nameKey } from '../text/name-key.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { row } from './sqlite-row.ts'

/** Returns the tombstone of a log, or of the session that it belongs to. */
export function tombstoneOf({ sql }: SqliteFile, log: string): Tombstone | undefined {
  for (const name of erasableNames(log)) {
    const found = name !== undefined && row(sql('select at, receipt from erased where key = ?'), nameKey(name))
    if (found) return { at: Number(found[0]), receipt: String(found[1]) }
  }
  return undefined
}

/** Adds a tombstone for each name that has none. Runs in the transaction that removes the logs. */
export function addTombstones({ sql }: SqliteFile, names: readonly string[], { at, receipt }: Tombstone): void {
  const mark = sql('insert or ignore into erased values (?, ?, ?)')
  for (const name of names) mark.run(nameKey(name), at, receipt)
}

/**
 * Removes blobs that no log mentions, and copies of deleted rows.
 *
 * @returns the number of blobs.
 * @throws ProvostError `store-busy` if copies remain since another process reads the file.
 */
export function sweep({ db, sql, clear }: SqliteFile, path: string, { putBefore, traces }: SweepOptions): number {
  const unused = `delete from blobs where put < ?
    and not exists (select 1 from mentions where mentions.hash = blobs.hash)`
  db.exec('pragma secure_delete = on')
  try {
    const count = Number(sql(unused).run(putBefore).changes)
    if (!traces) return count
    // A page that is split keeps copies of the rows that moved: only rewriting the file removes them.
    db.exec('vacuum')
    if (!clear() && path !== ':memory:') throw readMeanwhile(path)
    return count
  } finally {
    db.exec('pragma secure_delete = off')
  }
}

function readMeanwhile(path: string): ProvostError {
  return new ProvostError('store-busy', `Another process reads ${path}, so traces of deleted data remain in it.`, {
    hint: 'The data is deleted. Sweep again to overwrite the traces.',
    retryable: true,
  })
}
