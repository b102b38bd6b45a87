import type { Client } from 'pg'

import { createWatchers } from '../kit/store-watchers.ts'
import type { Watchers } from '../kit/store-watchers.ts'
import { nameKey } from '../text/name-key.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import type { InboxListener } from './postgres-log.ts'

/** Milliseconds for which writers notify of a watched log after its watcher registered. */
const watchedMs = 60_000

interface Seen {
  readonly sessionId: string
  /** Position of its log and its inbox at the last poll; undefined before the first. */
  mark: string | undefined
  /** Last delivery of its inbox that a writer received. */
  delivered: string | undefined
}

/** Watchers of the sessions in a database. */
export interface PostgresWatchers extends Watchers, InboxListener {
  stop(): Promise<void>
}

/**
 * Watches sessions. One connection listens for all of them. Notifications are hints that can be lost, so one query polls
 * all of them every `pollMs`. Both run only while a session is watched.
 */
export function watchPostgres(database: PostgresDatabase, pollMs: number): PostgresWatchers {
  const { t, channel } = database
  /** Last seen state of each session, by the key in notifications. */
  const watched = new Map<string, Seen>()
  let listening: Promise<Client> | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  let polling = false

  const pollSql = `
    with marked as (
      update ${t('logs')} set watched_until = clock_timestamp() + $2 * interval '1 millisecond'
      where key = any($1::text[])
        and coalesce(watched_until < clock_timestamp() + $2 * interval '0.5 millisecond', true)
    )
    select k.key, l.no, l.tail, i.last from unnest($1::text[]) as k (key)
    left join ${t('logs')} as l on l.key = k.key left join ${t('inboxes')} as i on i.session = k.key`

  /** Returns the listening connection, and opens it where there is none. */
  function listen(): Promise<Client> {
    const connecting = connect(() => {
      // Keeps a connection that has replaced this one.
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

  /** Polls all watched sessions. The next poll repeats a failed one. */
  async function poll(): Promise<void> {
    if (polling || watched.size === 0) return
    polling = true
    try {
      listening ??= listen()
      await listening.catch(() => {})
      const rows = await database.query('provost-poll', pollSql, [[...watched.keys()], Math.max(watchedMs, pollMs * 4)])
      for (const [key, ...seen] of rows) {
        const known = watched.get(String(key))
        const mark = String(seen)
        if (!known || known.mark === mark) continue
        // The first poll wakes the watcher too: entries since its last read were not notified.
        known.mark = mark
        watchers.wake(known.sessionId)
      }
    } catch {
      // Repeated until the database is back.
    } finally {
      polling = false
      if ([...watched.values()].some(({ mark }) => mark === undefined))
        setTimeout(() => void poll(), Math.min(pollMs, 50)).unref()
    }
  }

  async function stopListening(): Promise<void> {
    // Cleared before closing, so that a new watcher opens another connection, which this call does not close.
    const ended = listening
    listening = undefined
    const client = await ended?.catch(() => undefined)
    await client?.end().catch(() => {})
  }

  const watchers = createWatchers({
    begun(sessionId) {
      watched.set(nameKey(sessionId), { sessionId, mark: undefined, delivered: undefined })
      timer ??= setInterval(() => void poll(), pollMs)
      void poll()
    },
    ended(sessionId) {
      watched.delete(nameKey(sessionId))
      if (watched.size > 0) return
      clearInterval(timer)
      timer = undefined
      void stopListening()
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
      const stopped = stopListening()
      watchers.close()
      await stopped
    },
  }
}
