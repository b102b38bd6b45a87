import type { Client } from 'pg'

import { createWatchers } from '../kit/store-watchers.ts'
import type { Watchers } from '../kit/store-watchers.ts'
import { nameKey } from '../text/name-key.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import type { InboxListener } from './postgres-log.ts'

/** Writers notify of a log that somebody watches, for so long after the watcher said so. */
const watchedMs = 60_000

interface Seen {
  readonly sessionId: string
  /** Of its log and its inbox, at the last look; undefined before the first. */
  mark: string | undefined
  /** Of its inbox, when a writer last heard of it. */
  delivered: string | undefined
}

/** Those who wait for news in a database. */
export interface PostgresWatchers extends Watchers, InboxListener {
  stop(): Promise<void>
}

/**
 * Watches sessions: one connection listens for all of them, and as notifications are hints that can be lost, one query
 * for all of them looks every `pollMs`. Both are there while somebody watches.
 */
export function watchPostgres(database: PostgresDatabase, pollMs: number): PostgresWatchers {
  const { t, channel } = database
  /** What was last seen of a session, by the key that notifications carry. */
  const watched = new Map<string, Seen>()
  let listening: Promise<Client> | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  let looking = false

  const lookSql = `
    with told as (
      update ${t('logs')} set watched_until = clock_timestamp() + $2 * interval '1 millisecond'
      where key = any($1::text[])
        and coalesce(watched_until < clock_timestamp() + $2 * interval '0.5 millisecond', true)
    )
    select k.key, l.no, l.tail, i.last from unnest($1::text[]) as k (key)
    left join ${t('logs')} as l on l.key = k.key left join ${t('inboxes')} as i on i.session = k.key`

  /** The connection that listens, made where there is none. */
  function listen(): Promise<Client> {
    const connecting = connect(() => {
      // What replaced it in the meantime stays.
      if (listening === connecting) listening = undefined
    })
    return connecting
  }

  async function connect(lost: () => void): Promise<Client> {
    const client = await database.client()
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', ({ payload = '' }) => {
      const known = watched.get(payload)
      if (known) watchers.wake(known.sessionId)
    })
    try {
      await client.connect()
      await client.query(`listen "${channel.replaceAll('"', '""')}"`)
      return client
    } catch (error) {
      lost()
      await client.end().catch(() => {})
      throw error
    }
  }

  /** What fails here is tried again at the next turn. */
  async function look(): Promise<void> {
    if (looking || watched.size === 0) return
    looking = true
    try {
      listening ??= listen()
      await listening.catch(() => {})
      const rows = await database.query('provost-look', lookSql, [[...watched.keys()], Math.max(watchedMs, pollMs * 4)])
      for (const [key, ...seen] of rows) {
        const known = watched.get(String(key))
        const mark = String(seen)
        if (!known || known.mark === mark) continue
        // The first look is news too: what came between the watcher's last read and now was told to nobody.
        known.mark = mark
        watchers.wake(known.sessionId)
      }
    } catch {
      // Until the database is back.
    } finally {
      looking = false
      if ([...watched.values()].some(({ mark }) => mark === undefined))
        setTimeout(() => void look(), Math.min(pollMs, 50)).unref()
    }
  }

  async function hangUp(): Promise<void> {
    // Forgotten at once: whoever watches from now on gets another, and nobody forgets that one instead.
    const ended = listening
    listening = undefined
    const client = await ended?.catch(() => undefined)
    await client?.end().catch(() => {})
  }

  const watchers = createWatchers({
    begun(sessionId) {
      watched.set(nameKey(sessionId), { sessionId, mark: undefined, delivered: undefined })
      timer ??= setInterval(() => void look(), pollMs)
      void look()
    },
    ended(sessionId) {
      watched.delete(nameKey(sessionId))
      if (watched.size > 0) return
      clearInterval(timer)
      timer = undefined
      void hangUp()
    },
  })

  return {
    ...watchers,
    isWaiting: (sessionId) => watched.size > 0 && watched.has(nameKey(sessionId)),
    delivered(sessionId, last) {
      const known = watched.get(nameKey(sessionId))
      if (!known || known.delivered === last) return
      known.delivered = last
      watchers.wake(sessionId, 'inbox')
    },
    async stop() {
      const hungUp = hangUp()
      watchers.close()
      await hungUp
    },
  }
}
