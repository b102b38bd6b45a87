import { isRecord, ProvostError } from '@provost/core'

/** `SQLITE_CONSTRAINT_PRIMARYKEY` */
const primaryKeyTaken = 1555
/** `SQLITE_FULL` */
const sqliteFull = 13
/** On a disk, in what a user may have of it, in a file; and PostgreSQL's `disk_full`. */
const noRoom: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', '53100'])

/** A writer that another one has replaced, or that gave its lease back. */
export function fenced(log: string): ProvostError {
  return new ProvostError('fenced', `The lease on log ${shown(log)} is no longer held.`, {
    hint: 'Another writer took over: read the log and resume from it.',
  })
}

/** A writer whose picture of the log is wrong. */
export function wrongOffset(log: string, at: number, after: number): ProvostError {
  return new ProvostError('wrong-offset', `Log ${shown(log)} is at ${at}, not at ${after}.`, {
    hint: 'The writer missed entries: read the log and resume from it.',
  })
}

/** A store that was closed and is still used. */
export function storeClosed(): ProvostError {
  return new ProvostError('store-closed', 'The store was closed.', { hint: 'Open it again, or close it later.' })
}

/** An error in words of ours, where it says that the disk of a store is full. */
export function inWords(store: string, error: unknown): unknown {
  if (!isRecord(error)) return error
  if (error['errcode'] !== sqliteFull && !noRoom.has(error['code'])) return error
  return new ProvostError('store-full', `There is no room left for ${store}.`, {
    hint: 'Make room, then resume: what was stored is safe.',
    cause: error,
  })
}

/** What a newer release wrote. */
export function newerStore(where: string, version: number, known: number): ProvostError {
  return new ProvostError('newer-store', `${where} has version ${version}; this release reads up to ${known}.`, {
    hint: 'Open it with a newer release.',
  })
}

/** A name as a message may hold it: names can be hostile, and long. */
export function shown(name: string): string {
  return /^[\w./:@-]{1,100}$/.test(name) ? name : JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)
}

/** Something that is no exported session, or no longer one. */
export function invalidExport(why: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-export', `This is not an exported session: ${why}.`, {
    hint: 'Pass what exportSession wrote, whole and unchanged.',
    cause,
  })
}

/** Whether a writer knew less of its log than there is: by its own word, or as its place in the table was taken. */
export function isOutdated(error: unknown): boolean {
  return isRecord(error) && (error['code'] === 'wrong-offset' || error['errcode'] === primaryKeyTaken)
}

/** Whether SQLite gave up waiting for another writer. */
export function isBusy(error: unknown): boolean {
  return isRecord(error) && (Number(error['errcode']) & 0xff) === 5
}
