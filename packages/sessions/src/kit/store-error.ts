import { isRecord, ProvostError } from '@provost/core'

/** `SQLITE_CONSTRAINT_PRIMARYKEY` */
const primaryKeyTaken = 1555
/** `SQLITE_FULL` */
const sqliteFull = 13
/** A full disk, a full quota, a file at its size limit, and PostgreSQL's `disk_full`. */
const noRoom: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', '53100'])

/** Returns the error `fenced`, for an append of a writer that was replaced or has released its lease. */
export function fenced(log: string): ProvostError {
  return new ProvostError('fenced', `The lease on log ${shown(log)} is no longer held.`, {
    hint: 'Another writer took over. Read the log and resume from it.',
  })
}

/**
 * Returns the error `wrong-offset`, for an append of a writer that missed entries. `planAppend` throws it.
 *
 * @param at last offset of the log.
 * @param after offset that the append names.
 */
export function wrongOffset(log: string, at: number, after: number): ProvostError {
  return new ProvostError('wrong-offset', `Log ${shown(log)} is at ${at}, not at ${after}.`, {
    hint: 'The writer missed entries. Read the log and resume from it.',
  })
}

/** Returns the error `store-closed`, for each use of a store after its `close`. */
export function storeClosed(): ProvostError {
  return new ProvostError('store-closed', 'The store is closed.', {
    hint: 'Open it again, or close it after its last use.',
  })
}

/** Returns the error of a write to an erased session. */
export function sessionErased(log: string): ProvostError {
  return new ProvostError('session-erased', `The session of log ${shown(log)} was erased for good.`, {
    hint: 'Discard what belongs to it. Start another session under another id.',
  })
}

/** Converts the error of a full disk to a ProvostError; returns other errors unchanged. */
export function diskError(store: string, error: unknown): unknown {
  if (!isRecord(error)) return error
  if (error['errcode'] !== sqliteFull && !noRoom.has(error['code'])) return error
  return new ProvostError('store-full', `The disk of ${store} is full.`, {
    hint: 'Free disk space, then resume. Stored entries are safe.',
    cause: error,
  })
}

/** Returns the error of data that a newer release wrote. */
export function newerStore(where: string, version: number, known: number): ProvostError {
  return new ProvostError('newer-store', `${where} has version ${version}; this release reads up to ${known}.`, {
    hint: 'Open it with a newer release.',
  })
}

/** Returns a name that is safe in a message: names can be hostile or long. */
export function shown(name: string): string {
  return /^[\w./:@-]{1,100}$/.test(name) ? name : JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)
}

/** Returns the error of an invalid or changed export. */
export function invalidExport(why: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-export', `This is not an exported session: ${why}.`, {
    hint: 'Pass the complete and unchanged output of exportSession.',
    cause,
  })
}

/** Whether a writer missed entries: by its offset, or since its row exists already. */
export function isOutdated(error: unknown): boolean {
  return isRecord(error) && (error['code'] === 'wrong-offset' || error['errcode'] === primaryKeyTaken)
}

/** Whether SQLite's wait for another writer timed out. */
export function isBusy(error: unknown): boolean {
  return isRecord(error) && (Number(error['errcode']) & 0xff) === 5
}
