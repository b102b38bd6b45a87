import type {
  Clock,
  Delivery,
  DueSession,
  Entry,
  KnownKeys,
  LeaseState,
  NewEntry,
  SessionInfo,
  SessionStatus,
  SessionStore,
  Tombstone,
} from '@provost/core'
import { checkedStore, checkOptions, clockOf, sessionQuarantined } from '@provost/core'

import { addFresh, planAppend } from '../kit/append-plan.ts'
import { blobHash, freshBlobs, hashesIn } from '../kit/blob-mentions.ts'
import { deliveryId } from '../kit/delivery-id.ts'
import { endQuarantine, grantLease, leaseStateOf, permitsAppend, releaseLease } from '../kit/lease-record.ts'
import type { LeaseRecord } from '../kit/lease-record.ts'
import { ownedLogs, staysAlone } from '../kit/owned-logs.ts'
import { runChange, selectSessions, sessionInfo } from '../kit/session-info.ts'
import type { LogOrigin } from '../kit/session-info.ts'
import { fenced, sessionErased } from '../kit/store-error.ts'
import { createWatchers } from '../kit/store-watchers.ts'
import { addToSummary, emptySummary } from '../summary/summary-state.ts'
import type { SummaryState } from '../summary/summary-state.ts'
import { createSummaryTable } from '../summary/summary-table.ts'
import { erasableNames } from '../text/erasable-names.ts'
import { dueAfter, dueBehind, dueSession, inTurns, releasedMs, withJitter } from '../wake/due-time.ts'

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** Default: that of the machine. */
  readonly clock?: Clock
}

const optionKeys = { clock: true } satisfies KnownKeys<MemoryStoreOptions>

interface Log {
  readonly entries: Entry[]
  readonly ids: Map<string, number>
  /** Its times are those of `clock.elapsed()`. */
  lease: LeaseRecord | undefined
  origin: LogOrigin | undefined
  isRunning: boolean
  status: SessionStatus
  /** Of a session: the fold of its summary, up to its last entry. */
  summary: SummaryState | undefined
}

/** Returns the entry with its offset. An entry that already has it is shared, not copied. */
function placed(entry: NewEntry, offset: number): Entry {
  return isPlaced(entry, offset) ? entry : Object.freeze({ ...entry, offset })
}

function isPlaced(entry: NewEntry, offset: number): entry is Entry {
  return 'offset' in entry && entry.offset === offset && Object.isFrozen(entry)
}

/**
 * Returns a store in the memory of this process: the default, for scripts and tests. Its content ends with the process.
 *
 * @example
 * const agent = createAgent({ name: 'a', model, store: memoryStore() })
 */
export function memoryStore(options: MemoryStoreOptions = {}): SessionStore {
  checkOptions(options, optionKeys, 'memoryStore')
  const clock = clockOf(options)
  const logs = new Map<string, Log>()
  const inboxes = new Map<string, Map<string, Delivery>>()
  const blobs = new Map<string, Uint8Array>()
  const unmentioned = freshBlobs()
  const watchers = createWatchers()
  const summaries = createSummaryTable()
  /** When sessions are due, in milliseconds since 1970; those that are not due at any time are missing. */
  const due = new Map<string, number>()
  const tombstones = new Map<string, Tombstone>()
  /** When each blob was put last. */
  const putAt = new Map<string, number>()
  /** Last fence of all logs, so that a deleted and recreated log gets a greater one. */
  let fences = 0

  function tombstoneOf(name: string): Tombstone | undefined {
    for (const one of tombstones.size > 0 ? erasableNames(name) : []) {
      const found = one === undefined ? undefined : tombstones.get(one)
      if (found) return found
    }
    return undefined
  }

  function logOf(name: string): Log {
    let log = logs.get(name)
    if (!log && tombstoneOf(name)) throw sessionErased(name)
    if (!log)
      logs.set(
        name,
        (log = {
          entries: [],
          ids: new Map(),
          lease: undefined,
          origin: undefined,
          isRunning: false,
          status: 'idle',
          summary: undefined,
        }),
      )
    return log
  }

  /** Returns when a run in progress is due; undefined for a lease without an end. */
  function dueBehindLease({ lease }: Log): number | undefined {
    if (!lease || lease.until >= Number.MAX_SAFE_INTEGER) return undefined
    return clock.now() + withJitter(lease.until - clock.elapsed())
  }

  const stateOf = (log: Log | undefined): LeaseState => leaseStateOf(log?.lease, clock.elapsed(), clock.now())

  function schedule(name: string, { origin, lease }: Log, at: number | undefined): void {
    const isSession = origin?.child === false && lease?.quarantinedAt === undefined
    if (at === undefined || !isSession) due.delete(name)
    else due.set(name, at)
  }

  /** Adds entries to the summary of a session. */
  function summarize(name: string, log: Log, fresh: readonly Entry[], status: SessionStatus | undefined): void {
    if (!log.origin || log.origin.child) return
    // Entries before the one that makes it a session count too.
    const added = log.summary ? fresh : log.entries
    log.summary ??= emptySummary()
    let changed = false
    for (const entry of added) if (addToSummary(log.summary, entry) !== 'nothing') changed = true
    if (status !== undefined) log.status = status
    if (changed) listSummary(name, log)
  }

  function listSummary(name: string, { origin, summary, status, lease }: Log): void {
    if (!origin || !summary) return
    const { agent, principal } = origin
    const shown = lease?.quarantinedAt === undefined ? status : 'quarantined'
    const info = { id: name, agent, status: shown, updatedAt: summary.updatedAt }
    summaries.put({ ...info, ...(principal !== undefined && { principal }) }, summary)
  }

  /** Returns the hashes of the blobs that logs mention. */
  function mentionedIn(doomed: Iterable<Log>): ReadonlySet<string> {
    const found = new Set<string>()
    for (const { entries } of doomed) {
      for (const entry of entries)
        for (const hash of hashesIn(JSON.stringify(entry))) if (blobs.has(hash)) found.add(hash)
    }
    return found
  }

  /** Removes a session, and returns the names of its logs. */
  function remove(sessionId: string): readonly string[] {
    const doomed = [sessionId]
    const names: string[] = []
    const removed: Log[] = []
    for (let name = doomed.pop(); name !== undefined; name = doomed.pop()) {
      const log = logs.get(name)
      // An entry may name a separate session as its child: that session is not deleted.
      if (!log || (staysAlone(name, sessionId) && sessionInfo(name, log.entries))) continue
      for (const entry of log.entries) doomed.push(...ownedLogs(entry))
      logs.delete(name)
      due.delete(name)
      summaries.remove(name)
      inboxes.delete(name)
      removed.push(log)
      names.push(name)
    }
    const mentioned = blobs.size > 0 ? mentionedIn(removed) : undefined
    if (mentioned && mentioned.size > 0) {
      const needed = mentionedIn(logs.values())
      for (const hash of mentioned) if (!needed.has(hash) && !unmentioned.has(hash)) blobs.delete(hash)
    }
    inboxes.delete(sessionId)
    watchers.wake(sessionId)
    return names
  }

  return checkedStore({
    ephemeral: true,
    clock,
    summaries,
    place: () => ({ kind: 'process' }),

    async lease(name, owner, ttlMs, terms) {
      const log = logOf(name)
      const request = { owner, ttlMs, terms, now: clock.elapsed(), at: clock.now(), nextFence: () => ++fences }
      const decision = grantLease(log.lease, request)
      if (decision.outcome === 'busy') return 'busy'
      log.lease = decision.record
      if (log.isRunning) schedule(name, log, dueBehindLease(log))
      if (decision.outcome === 'quarantined') {
        listSummary(name, log)
        throw sessionQuarantined(name)
      }
      return decision.lease
    },

    async leaseState(name) {
      return stateOf(logs.get(name))
    },

    async releaseQuarantine(sessionId) {
      const log = logs.get(sessionId)
      const ended = endQuarantine(log?.lease)
      if (log && ended) {
        log.lease = ended
        listSummary(sessionId, log)
        schedule(sessionId, log, clock.now())
      }
      return ended !== undefined
    },

    async release(name, fence) {
      const log = logs.get(name)
      if (!log?.lease || !permitsAppend(log.lease, fence)) return
      log.lease = releaseLease(log.lease, fence)
      if (log.isRunning) schedule(name, log, clock.now() + releasedMs)
    },

    async append(name, entries, { after, fence }) {
      const log = logs.get(name)
      if (!log || !permitsAppend(log.lease, fence)) throw fenced(name)
      const { entries: stored, ids } = log
      const { fresh, known } = planAppend(name, entries, ids, stored.length, after)
      const existing: Entry[] = []
      for (const offset of known) {
        const entry = stored[offset - 1]
        if (entry) existing.push(entry)
      }
      addFresh(fresh, ids, stored.length)
      const start = stored.length
      for (const entry of fresh) stored.push(placed(entry, stored.length + 1))
      const change = runChange(fresh)
      if (change) {
        log.origin ??= change.started
        log.isRunning = change.status === 'running'
        const place = { mail: inboxes.get(name)?.size ?? 0, leased: dueBehindLease(log), now: clock.now() }
        schedule(name, log, dueAfter(change, place))
      }
      summarize(name, log, stored.slice(start), change?.status)
      if (blobs.size > 0) unmentioned.mention(fresh.map((entry) => JSON.stringify(entry)))
      watchers.wake(name, 'log')
      return { offset: stored.length, existing }
    },

    async *read(name, after = 0) {
      const entries = logs.get(name)?.entries ?? []
      const end = entries.length
      for (let i = after; i < end; i++) {
        const entry = entries[i]
        if (entry) yield entry
      }
    },

    async deliver(sessionId, token, value, by) {
      if (tombstoneOf(sessionId)) throw sessionErased(sessionId)
      let inbox = inboxes.get(sessionId)
      if (!inbox) inboxes.set(sessionId, (inbox = new Map()))
      if (inbox.has(token)) return 'duplicate'
      const id = deliveryId(inbox.size + 1)
      inbox.set(token, Object.freeze({ id, token, value, by, at: clock.now() }))
      const log = logs.get(sessionId)
      if (log && !log.isRunning) schedule(sessionId, log, clock.now())
      watchers.wake(sessionId, 'inbox')
      return 'accepted'
    },

    async *inbox(sessionId, after = '') {
      for (const delivery of [...(inboxes.get(sessionId)?.values() ?? [])]) {
        if (delivery.id > after) yield delivery
      }
    },

    watch: watchers.watch,

    async blob(hash) {
      return blobs.get(hash)
    },

    async putBlob(bytes) {
      const hash = blobHash(bytes)
      if (!blobs.has(hash)) blobs.set(hash, bytes.slice())
      unmentioned.put(hash)
      putAt.set(hash, clock.now())
      return hash
    },

    async *list(filter) {
      const rows: SessionInfo[] = []
      for (const [id, log] of logs) {
        const row = sessionInfo(id, log.entries)
        if (row) rows.push(log.lease?.quarantinedAt === undefined ? row : { ...row, status: 'quarantined' })
      }
      yield* selectSessions(rows, filter)
    },

    async claimDue({ agents, limit, hiddenMs, except = [] }) {
      const now = clock.now()
      const rows = []
      for (const [key, at] of due) {
        const { origin } = logs.get(key) ?? {}
        if (at > now || !origin || !agents.includes(origin.agent)) continue
        const { agent, principal } = origin
        if (principal === undefined || !except.includes(principal)) rows.push({ key, due: at, principal, agent })
      }
      const claimed: DueSession[] = []
      for (const { key, agent, principal } of inTurns(rows, limit)) {
        const state = stateOf(logs.get(key))
        due.set(key, dueBehind(state, now, hiddenMs))
        if (state.holder !== 'alive') claimed.push(dueSession(key, agent, principal, state.takeovers))
      }
      return claimed
    },

    async setDue(sessionId, { at, seen, after }) {
      const log = logs.get(sessionId)
      if (!log || stateOf(log).holder === 'alive') return
      if (after !== undefined && log.entries.length > after) return
      const isUnread = seen !== undefined && (inboxes.get(sessionId)?.size ?? 0) > Number(seen)
      schedule(sessionId, log, isUnread ? clock.now() : at)
    },

    async delete(sessionId) {
      remove(sessionId)
    },

    async erase(sessionId, receipt) {
      const names = remove(sessionId)
      const stone = Object.freeze({ at: clock.now(), receipt })
      for (const name of [sessionId, ...names]) if (!tombstones.has(name)) tombstones.set(name, stone)
      // Deliveries to children that had no log yet.
      for (const name of inboxes.keys()) if (tombstoneOf(name)) inboxes.delete(name)
      return names
    },

    async tombstone(name) {
      return tombstoneOf(name)
    },

    async sweep({ putBefore }) {
      const needed = mentionedIn(logs.values())
      const unused = [...blobs.keys()].filter((hash) => !needed.has(hash) && (putAt.get(hash) ?? 0) < putBefore)
      for (const hash of unused) {
        blobs.delete(hash)
        putAt.delete(hash)
      }
      return unused.length
    },

    async close() {
      watchers.close()
    },
  })
}
