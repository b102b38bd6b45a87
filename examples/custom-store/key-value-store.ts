// A complete store over a key-value map, for one process at a time. It needs one thing of the map: a `set` that happens
// as a whole or not at all.
import { deepFreeze, sessionQuarantined } from '@provost/core'
import {
  addFresh,
  blobHash,
  createWatchers,
  deliveryId,
  endQuarantine,
  fenced,
  grantLease,
  hashesIn,
  leaseStateOf,
  nameKey,
  ownedLogs,
  permitsAppend,
  planAppend,
  readEntry,
  releaseLease,
  selectSessions,
  sessionInfo,
  storeClosed,
  summarizeAppend,
  writeEntry,
} from '@provost/sessions/kit'
import type { LeaseRecord, LogSummary } from '@provost/sessions/kit'
import type { Entry, SessionStore } from 'provost'

/** The map: a driver of a database, or a Map in memory. */
export interface KeyValues {
  get(key: string): string | undefined
  set(key: string, value: string): void
  delete(key: string): void
  /** Returns the keys with a prefix, in any order. */
  keys(prefix: string): Iterable<string>
}

/** The part of a log that readers see: entries behind `tail` are of an append that a crash cut off. */
interface Head {
  readonly log: string
  readonly tail: number
  readonly summary?: LogSummary
}

/** Returns a store that keeps all its state in the map: another store on the same map continues where it ended. */
export function keyValueStore(map: KeyValues): SessionStore {
  const watchers = createWatchers()
  let closed = false

  function open(): KeyValues {
    if (closed) throw storeClosed()
    return map
  }

  // A name becomes a key without spaces, so that a space separates the parts of a longer key.
  const headKey = (log: string): string => `head ${nameKey(log)}`
  const leaseKey = (log: string): string => `lease ${nameKey(log)}`
  const entryKey = (log: string, offset: number): string => `entry ${nameKey(log)} ${offset}`
  const idKey = (log: string, id: string): string => `id ${nameKey(log)} ${nameKey(id)}`
  const inboxKey = (session: string): string => `inbox ${nameKey(session)}`
  const deliveryKey = (session: string, n: number): string => `delivery ${nameKey(session)} ${n}`
  const tokenKey = (session: string, token: string): string => `token ${nameKey(session)} ${nameKey(token)}`

  function headOf(log: string): Head {
    return JSON.parse(open().get(headKey(log)) ?? JSON.stringify({ log, tail: 0 }))
  }

  function leaseOf(log: string): LeaseRecord | undefined {
    const text = open().get(leaseKey(log))
    return text === undefined ? undefined : JSON.parse(text)
  }

  function entryAt(log: string, offset: number): Entry | undefined {
    const text = map.get(entryKey(log, offset))
    return text === undefined ? undefined : readEntry(text)
  }

  /** Returns the offsets of the ids of a log. An id of an append that a crash cut off has no entry of that id. */
  const idsOf = (log: string, tail: number) => ({
    get(id: string): number | undefined {
      const offset = Number(map.get(idKey(log, id)) ?? 0)
      return offset > 0 && offset <= tail && entryAt(log, offset)?.id === id ? offset : undefined
    },
    set: (id: string, offset: number): void => map.set(idKey(log, id), String(offset)),
  })

  function writeWithBlobs(log: string, offset: number, text: string): void {
    map.set(entryKey(log, offset), text)
    for (const hash of hashesIn(text)) {
      if (map.get(`blob ${hash}`) === undefined) continue
      map.set(`mention ${hash} ${nameKey(log)}`, '')
      map.delete(`fresh ${hash}`)
    }
  }

  /** Removes a blob that this log alone mentions, unless it was put again since: another log is about to mention it. */
  function dropMention(log: string, hash: string): void {
    map.delete(`mention ${hash} ${nameKey(log)}`)
    const [other] = map.keys(`mention ${hash} `)
    if (other === undefined && map.get(`fresh ${hash}`) === undefined) map.delete(`blob ${hash}`)
  }

  const deliveriesOf = (session: string): number => Number(open().get(inboxKey(session)) ?? 0)
  const tokenAt = (session: string, n: number): string =>
    JSON.parse(map.get(deliveryKey(session, n)) ?? '{"token":""}').token

  return {
    async lease(log, owner, ttlMs, terms) {
      const nextFence = (): number => {
        const fence = Number(map.get('fence') ?? 0) + 1
        map.set('fence', String(fence))
        return fence
      }
      const decision = grantLease(leaseOf(log), { owner, ttlMs, terms, now: Date.now(), nextFence })
      if (decision.outcome === 'busy') return 'busy'
      map.set(leaseKey(log), JSON.stringify(decision.record))
      if (decision.outcome === 'quarantined') throw sessionQuarantined(log)
      return decision.lease
    },

    leaseState: async (log) => leaseStateOf(leaseOf(log), Date.now()),

    async releaseQuarantine(sessionId) {
      const record = endQuarantine(leaseOf(sessionId))
      if (record) map.set(leaseKey(sessionId), JSON.stringify(record))
      return record !== undefined
    },

    async release(log, fence) {
      const record = leaseOf(log)
      if (record) map.set(leaseKey(log), JSON.stringify(releaseLease(record, fence)))
    },

    async append(log, entries, { after, fence }) {
      if (!permitsAppend(leaseOf(log), fence)) throw fenced(log)
      const { tail, summary } = headOf(log)
      const ids = idsOf(log, tail)
      const { fresh, known } = planAppend(log, entries, ids, tail, after)
      const offset = tail + fresh.length
      if (fresh.length > 0) {
        fresh.forEach((entry, n) => writeWithBlobs(log, tail + n + 1, writeEntry(entry, tail + n + 1)))
        addFresh(fresh, ids, tail)
        // Last: the new head makes all these entries part of the log at once.
        const head: Head = { log, tail: offset, summary: summarizeAppend(summary, fresh) }
        map.set(headKey(log), JSON.stringify(head))
        watchers.wake(log, 'log')
      }
      return { offset, existing: known.flatMap((at) => entryAt(log, at) ?? []) }
    },

    async *read(log, after = 0) {
      const { tail } = headOf(log)
      for (let offset = Math.max(0, after) + 1; offset <= tail; offset++) {
        const entry = entryAt(log, offset)
        // The log was deleted during the read.
        if (!entry) return
        yield entry
      }
    },

    async deliver(sessionId, token, value, by) {
      const count = deliveriesOf(sessionId)
      const earlier = Number(map.get(tokenKey(sessionId, token)) ?? 0)
      // A delivery that a crash cut off is not part of the inbox.
      if (earlier > 0 && earlier <= count && tokenAt(sessionId, earlier) === token) return 'duplicate'
      const n = count + 1
      const delivery = { id: deliveryId(n), token, value, by, at: Date.now() }
      map.set(tokenKey(sessionId, token), String(n))
      map.set(deliveryKey(sessionId, n), JSON.stringify(delivery))
      // Last: the new count makes the delivery part of the inbox.
      map.set(inboxKey(sessionId), String(n))
      watchers.wake(sessionId, 'inbox')
      return 'accepted'
    },

    async *inbox(sessionId, after = '') {
      const count = deliveriesOf(sessionId)
      for (let n = Number(after) + 1; n <= count; n++) {
        const text = map.get(deliveryKey(sessionId, n))
        if (text !== undefined) yield deepFreeze(JSON.parse(text))
      }
    },

    watch: watchers.watch,

    async blob(hash) {
      const text = open().get(`blob ${nameKey(hash)}`)
      return text === undefined ? undefined : new Uint8Array(Buffer.from(text, 'base64'))
    },

    async putBlob(bytes) {
      const hash = blobHash(bytes)
      open().set(`fresh ${hash}`, '')
      map.set(`blob ${hash}`, Buffer.from(bytes).toString('base64'))
      return hash
    },

    async *list(filter) {
      const rows = [...open().keys('head ')].flatMap((key) => {
        const { log, summary }: Head = JSON.parse(map.get(key) ?? '{}')
        const row = sessionInfo(log, summary)
        if (!row) return []
        return leaseOf(log)?.quarantinedAt === undefined ? row : { ...row, status: 'quarantined' as const }
      })
      yield* selectSessions(rows, filter)
    },

    async delete(sessionId) {
      // Iterates over the logs that are added meanwhile too.
      const doomed = new Set([sessionId])
      for (const log of doomed) {
        const { tail, summary } = headOf(log)
        // An entry may name a separate session as its child: that session stays.
        if (log !== sessionId && sessionInfo(log, summary)) continue
        for (let offset = 1; ; offset++) {
          const text = map.get(entryKey(log, offset))
          if (text === undefined && offset > tail) break
          // A crash cut an earlier deletion off.
          if (text === undefined) continue
          const entry = readEntry(text)
          for (const owned of ownedLogs(entry)) doomed.add(owned)
          for (const hash of hashesIn(text)) dropMention(log, hash)
          map.delete(idKey(log, entry.id))
          map.delete(entryKey(log, offset))
        }
        map.delete(headKey(log))
        map.delete(leaseKey(log))
        for (let n = deliveriesOf(log); n > 0; n--) {
          map.delete(tokenKey(log, tokenAt(log, n)))
          map.delete(deliveryKey(log, n))
        }
        map.delete(inboxKey(log))
      }
      watchers.wake(sessionId)
    },

    async close() {
      closed = true
      watchers.close()
    },
  }
}
