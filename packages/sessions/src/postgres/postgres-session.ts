import type { SessionInfo, SessionStore, Tombstone } from '@provost/core'

import { ownedLogMarks, ownedLogs, staysAlone } from '../kit/owned-logs.ts'
import { statusOf } from '../kit/session-info.ts'
import { readEntry } from '../text/entry-text.ts'
import { erasableNames } from '../text/erasable-names.ts'
import { nameKey } from '../text/name-key.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import { addTombstones } from './postgres-erasure.ts'

type Filter = NonNullable<Parameters<SessionStore['list']>[0]>

/** Returns one page of the sessions that match a filter. */
export async function listSessions(
  database: PostgresDatabase,
  { principal, status, after }: Filter,
  limit: number,
): Promise<readonly SessionInfo[]> {
  const rows = await database.kysely((db) => {
    let page = db
      .selectFrom('logs')
      .select(['origin', 'status', 'quarantined', 'updated_at'])
      .where('kind', '=', 'session')
    if (principal !== undefined) page = page.where('principal', '=', nameKey(principal))
    if (status === 'quarantined') page = page.where('quarantined', 'is not', null)
    else if (status !== undefined) page = page.where('status', '=', status).where('quarantined', 'is', null)
    if (after !== undefined) page = page.where('key', '>', nameKey(after))
    return page.orderBy('key').limit(limit).execute()
  })
  return rows.map((row) => {
    const { id, agent, principal: owner } = JSON.parse(row.origin ?? '{}')
    return {
      id,
      agent,
      status: row.quarantined ? 'quarantined' : statusOf(row.status),
      ...(owner !== undefined && { principal: owner }),
      updatedAt: Number(row.updated_at),
    }
  })
}

/**
 * Deletes a session with its child logs, its inbox, and the blobs that no other log mentions.
 *
 * @param stone erases the session for good: its names get this tombstone.
 * @returns the names of the deleted logs.
 */
export function deleteSession(
  { t, transaction }: PostgresDatabase,
  sessionId: string,
  stone?: Tombstone,
): Promise<readonly string[]> {
  return transaction(async (run) => {
    const doomed = [sessionId]
    const names: string[] = []
    const dropInbox = async (name: string): Promise<void> => {
      await run('provost-drop-inbox', `delete from ${t('inbox')} where session = $1`, [nameKey(name)])
      await run('provost-drop-inbox-head', `delete from ${t('inboxes')} where session = $1`, [nameKey(name)])
    }
    // A session without a log may have an inbox.
    await dropInbox(sessionId)
    for (let name = doomed.pop(); name !== undefined; name = doomed.pop()) {
      const locked = `select no, kind from ${t('logs')} where key = $1 for update`
      const [log] = await run('provost-doomed', locked, [nameKey(name)])
      // An entry may name a separate session as its child: that session is not deleted.
      if (log && staysAlone(name, sessionId) && log[1] === 'session') continue
      // A child that has no log yet may have deliveries.
      if (!log && erasableNames(name)[1] === sessionId) await dropInbox(name)
      if (!log) continue
      names.push(name)
      const no = String(log[0])
      const named = ownedLogMarks.map((mark) => `strpos(body, '${mark}') > 0`).join(' or ')
      const naming = `select body from ${t('entries')} where log = $1 and (${named})`
      for (const [body] of await run('provost-owned-logs', naming, [no])) {
        doomed.push(...ownedLogs(readEntry(String(body))))
      }
      // A blob that was put again after this log mentioned it may be about to be mentioned by another log.
      await run(
        'provost-drop-blobs',
        `delete from ${t('blobs')} as blob using ${t('mentions')} as own
         where own.log = $1 and blob.hash = own.hash and blob.put <= own.at
         and not exists (select from ${t('mentions')} as other where other.hash = own.hash and other.log <> $1)`,
        [no],
      )
      await run('provost-drop-mentions', `delete from ${t('mentions')} where log = $1`, [no])
      await run('provost-forget-passing', `delete from ${t('passing')} where log = $1`, [nameKey(name)])
      await run('provost-drop-entries', `delete from ${t('entries')} where log = $1`, [no])
      await run('provost-drop-summary', `delete from ${t('summaries')} where log = $1`, [no])
      await run('provost-drop-log', `delete from ${t('logs')} where no = $1`, [no])
      if (name !== sessionId) await dropInbox(name)
    }
    if (stone) await addTombstones(t, run, [sessionId, ...names], stone)
    return names
  })
}
