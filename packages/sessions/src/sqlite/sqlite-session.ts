import type { SessionInfo, SessionStore, Tombstone } from '@provost/core'

import { ownedLogMarks, ownedLogs, staysAlone } from '../kit/owned-logs.ts'
import { statusOf } from '../kit/session-info.ts'
import { readEntry } from '../text/entry-text.ts'
import { erasableNames } from '../text/erasable-names.ts'
import { nameKey } from '../text/name-key.ts'
import { addTombstones } from './sqlite-erasure.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { row, rows } from './sqlite-row.ts'
import { logSpan } from './sqlite-schema.ts'

/** Status of a session: quarantine takes precedence over the status in its log. */
const statusNow = `case when quarantined is null then status else 'quarantined' end`

type Filter = NonNullable<Parameters<SessionStore['list']>[0]>

/** Returns one page of the sessions that match a filter. */
export function listSessions({ sql }: SqliteFile, filter: Filter, limit: number): readonly SessionInfo[] {
  const { principal, status, after } = filter
  const conditions = ["kind = 'session'"]
  const values: (string | number)[] = []
  const where = (condition: string, value: string | undefined): void => {
    if (value === undefined) return
    conditions.push(condition)
    values.push(value)
  }
  where('principal = ?', principal === undefined ? undefined : nameKey(principal))
  if (status === 'quarantined') conditions.push('quarantined is not null')
  else {
    where('status = ?', status)
    if (status !== undefined) conditions.push('quarantined is null')
  }
  where('key > ?', after === undefined ? undefined : nameKey(after))
  const last = `select json_extract(body, '$.at') from entries
    where place = (select max(place) from entries where place between no * ${logSpan} and (no + 1) * ${logSpan} - 1)`
  const page = sql(
    `select origin, ${statusNow}, (${last}) from logs where ${conditions.join(' and ')} order by key limit ?`,
  )
  return rows(page, ...values, limit).map(([origin, state, updatedAt]) => {
    const { id, agent, principal: owner } = JSON.parse(String(origin))
    return {
      id,
      agent,
      status: statusOf(state),
      ...(owner !== undefined && { principal: owner }),
      updatedAt: Number(updatedAt),
    }
  })
}

/**
 * Deletes a session with its child logs, its inbox, and the blobs that no other log mentions. The deleted data is
 * overwritten in the file.
 *
 * @param stone erases the session for good: its names get this tombstone.
 * @returns the names of the deleted logs.
 */
export function deleteSession(file: SqliteFile, sessionId: string, stone?: Tombstone): readonly string[] {
  const { db, sql, transaction } = file
  // Set only for deletions: it would slow down appends, which overwrite nothing.
  db.exec('pragma secure_delete = on')
  try {
    return transaction(() => {
      const names = removeLogs(file, sessionId)
      sql('delete from inbox where session = ?').run(nameKey(sessionId))
      if (stone) addTombstones(file, [sessionId, ...names], stone)
      return names
    })
  } finally {
    db.exec('pragma secure_delete = off')
    // The deleted data leaves the write-ahead log too.
    file.clear()
  }
}

function removeLogs({ sql }: SqliteFile, sessionId: string): readonly string[] {
  const doomed = [sessionId]
  const names = new Set<string>()
  for (let name = doomed.pop(); name !== undefined; name = doomed.pop()) {
    const [number, kind] = row(sql('select no, kind from logs where key = ?'), nameKey(name)) ?? []
    // An entry may name a separate session as its child: that session is not deleted.
    if (names.has(name) || (staysAlone(name, sessionId) && kind === 'session')) continue
    if (number === undefined) {
      // A child that has no log yet may have deliveries.
      if (erasableNames(name)[1] === sessionId) sql('delete from inbox where session = ?').run(nameKey(name))
      continue
    }
    names.add(name)
    const no = Number(number)
    const span = [no * logSpan, (no + 1) * logSpan - 1] as const
    const named = ownedLogMarks.map((mark) => `instr(body, '${mark}')`).join(' or ')
    const naming = sql(`select body from entries where place between ? and ? and (${named})`)
    for (const [body] of rows(naming, ...span)) doomed.push(...ownedLogs(readEntry(String(body))))
    sql('delete from entries where place between ? and ?').run(...span)
    // A blob that was put again after this log mentioned it may be about to be mentioned by another log.
    sql(
      `delete from blobs where hash in (select hash from mentions as own where log = ? and put <= own.at
         and not exists (select 1 from mentions as other where other.hash = own.hash and other.log <> ?))`,
    ).run(no, no)
    sql('delete from mentions where log = ?').run(no)
    sql('delete from passing where log = ?').run(nameKey(name))
    sql('delete from summaries where log = ?').run(no)
    sql('delete from logs where no = ?').run(no)
    sql('delete from inbox where session = ?').run(nameKey(name))
  }
  return [...names]
}
