import type {
  AppendPosition,
  Appended,
  Clock,
  Entry,
  EntryReader,
  Lease,
  LeaseState,
  LeaseTerms,
  NewEntry,
} from '@provost/core'
import { ProvostError, sessionQuarantined } from '@provost/core'

import { addFresh, planAppend } from '../kit/append-plan.ts'
import type { KnownIds } from '../kit/append-plan.ts'
import { hashesIn } from '../kit/blob-mentions.ts'
import { createIdIndex } from '../kit/id-index.ts'
import { grantLease, leaseStateOf } from '../kit/lease-record.ts'
import type { LeaseDecision, LeaseRecord } from '../kit/lease-record.ts'
import { runChange } from '../kit/session-info.ts'
import type { RunChange } from '../kit/session-info.ts'
import { fenced, isOutdated, sessionErased } from '../kit/store-error.ts'
import { addEntries, readSummary } from '../summary/stored-summary.ts'
import type { StoredSummary } from '../summary/stored-summary.ts'
import { addToSummary, changesSummary, emptySummary } from '../summary/summary-state.ts'
import type { SummaryState } from '../summary/summary-state.ts'
import { entriesOf, writeEntry } from '../text/entry-text.ts'
import { nameKey } from '../text/name-key.ts'
import { dueAfter, releasedMs, withJitter } from '../wake/due-time.ts'
import { tombstoneOf } from './sqlite-erasure.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { entryAt, idAt, pagesIn, tailOf } from './sqlite-pages.ts'
import { row } from './sqlite-row.ts'
import type { Value } from './sqlite-row.ts'
import { logSpan } from './sqlite-schema.ts'
import { noteChange, writeSummary } from './sqlite-summary.ts'

/** A log that this handle may write. While the fence is valid no other handle writes it, so the cached state is correct. */
interface Held {
  readonly no: number
  readonly fence: number
  tail: number
  /** Ids of all entries; undefined until they are needed or read. */
  ids: KnownIds | undefined
  /** The fold of the summary up to the tail; undefined until it is needed. `none`: the log is not a session. */
  summary: SummaryState | 'none' | undefined
}

/** The logs of a database and the right to write them. */
export interface SqliteLogs {
  lease(name: string, owner: string, ttlMs: number, terms?: LeaseTerms): Lease | 'busy'
  leaseState(name: string): LeaseState
  releaseQuarantine(name: string): boolean
  release(name: string, fence: number): void
  append(name: string, entries: readonly NewEntry[], at: AppendPosition): Appended
  read(name: string, after: number): EntryReader
  /** Drops the cached state of a log. */
  drop(name: string): void
}

/** Rows that one statement inserts; a longer append runs several statements in a transaction. */
const batchSize = 8
/** Characters after which a reader yields to the event loop. */
const lengthPerTurn = 2 ** 19
const pagesPerTurn = 16
/** A log whose lease is released has no fence. */
const held = '(select fence from logs where no = ?) = ?'
const none: readonly Entry[] = []

/**
 * Writes rows if the fence is still valid. A conflict rolls back the whole transaction: to roll back only the statement,
 * SQLite would copy each page that it changes.
 */
const into = 'insert or rollback into entries (place, body)'
const insertOne = `${into} select ?, ? where ${held}`
const inserts: readonly string[] = Array.from({ length: batchSize }, (_, n) => {
  const values = Array.from({ length: n + 1 }, () => '(?, ?)').join(', ')
  return `${into} select * from (values ${values}) where ${held}`
})

/** @param alive throws when the store is closed. */
export function sqliteLogs(file: SqliteFile, clock: Clock, alive: () => void): SqliteLogs {
  const { sql, transaction } = file
  const leased = new Map<string, Held>()

  const indexOf = (no: number, tail: number): KnownIds => createIdIndex((offset) => idAt(file, no, offset), tail)

  /** Returns the log of a fence, also of a lease that another handle took. */
  function heldLog(name: string, fence: number): Held {
    const known = leased.get(name)
    if (known?.fence === fence) return known
    const [number] = row(sql('select no from logs where key = ? and fence = ?'), nameKey(name), fence) ?? []
    if (number === undefined) throw fenced(name)
    const no = Number(number)
    const log: Held = { no, fence, tail: tailOf(file, no), ids: undefined, summary: undefined }
    leased.set(name, log)
    return log
  }

  function idsOf(log: Held): KnownIds {
    if (log.ids) return log.ids
    const ids = indexOf(log.no, log.tail)
    // A writer that reads the log first has the ids already. An SQL index would slow down every append.
    for (const { entries } of pagesIn(file, log.no, 0, log.tail))
      for (const { id, offset } of entries) ids.set(id, offset)
    log.ids = ids
    return ids
  }

  /** Inserts one or a few rows if the fence is still valid. */
  function insert(log: Held, texts: readonly string[], from: number, count: number): boolean {
    const base = log.no * logSpan + log.tail + 1
    if (count === 1) return file.write(insertOne, base + from, texts[from] ?? '', log.no, log.fence) === 1
    const values: (string | number)[] = []
    for (let n = from; n < from + count; n++) values.push(base + n, texts[n] ?? '')
    return file.write(inserts[count - 1] ?? '', ...values, log.no, log.fence) === count
  }

  /** Returns the stored blobs whose hashes the texts mention. */
  function blobsIn(texts: readonly string[]): readonly string[] {
    let found: string[] | undefined
    for (const text of texts) {
      for (const hash of hashesIn(text)) {
        if (row(sql('select 1 from blobs where hash = ?'), hash)) (found ??= []).push(hash)
      }
    }
    return found ?? nothing
  }

  /** Updates the row of the session list. The origin of the log is set once. */
  function updateSummary(name: string, log: Held, change: RunChange): void {
    const { started: origin, status } = change
    if (origin) {
      sql(`update logs set kind = ?, agent = ?, origin = ?, principal = ? where no = ? and kind is null`).run(
        origin.child ? 'child' : 'session',
        origin.agent,
        JSON.stringify({ id: name, ...origin }),
        origin.principal === undefined ? null : nameKey(origin.principal),
        log.no,
      )
    }
    const now = clock.now()
    const [kind, mail, until] = row(sql('select kind, mail, until from logs where no = ?'), log.no) ?? []
    const dueBehindLease = Math.round(now + withJitter(Number(until) - now))
    const due = kind === 'session' ? dueAfter(change, { mail: Number(mail), leased: dueBehindLease, now }) : undefined
    sql('update logs set status = ?, due_at = ? where no = ?').run(status, due ?? null, log.no)
  }

  /** Returns the summary of a log up to its tail; `none` for a log that these entries do not make a session. */
  function summaryIn(log: Held, change: RunChange | undefined): SummaryState | 'none' {
    if (log.summary && (log.summary !== 'none' || !change?.started)) return log.summary
    const found = row(sql('select kind, state from logs left join summaries on log = no where no = ?'), log.no)
    const [kind = null, stored] = found ?? []
    const isSession = kind === null ? change?.started?.child === false : kind === 'session'
    if (!isSession) return (log.summary = 'none')
    const state = readSummary(stored) ?? emptySummary()
    for (const { entries } of pagesIn(file, log.no, state.offset, log.tail)) {
      for (const entry of entries) addToSummary(state, entry)
    }
    return (log.summary = state)
  }

  /** Adds entries to the summary of a session. @returns what to write. */
  function summarize(log: Held, entries: readonly NewEntry[], change?: RunChange): StoredSummary | undefined {
    const state = summaryIn(log, change)
    return state === 'none' ? undefined : addEntries(state, entries, log.tail)
  }

  /** Writes one entry that affects neither the list nor a blob, as most do: a single row. */
  function writeOne(log: Held, entry: NewEntry): boolean | undefined {
    if (changesSummary(entry) || log.tail + 1 >= logSpan) return undefined
    const text = writeEntry(entry, log.tail + 1)
    if (hashesIn(text).length > 0) return undefined
    // Its place in the fold counts, but nothing that a list shows.
    summarize(log, [entry])
    return file.write(insertOne, log.no * logSpan + log.tail + 1, text, log.no, log.fence) === 1
  }

  /** Writes entries. @returns false when the fence is no longer valid: nothing was written. */
  function write(name: string, log: Held, entries: readonly NewEntry[]): boolean {
    const [only] = entries
    const written = only && entries.length === 1 ? writeOne(log, only) : undefined
    if (written !== undefined) return written
    if (log.tail + entries.length >= logSpan) throw full(logSpan)
    const texts = entries.map((entry, n) => writeEntry(entry, log.tail + n + 1))
    const change = runChange(entries)
    const mentioned = blobsIn(texts)
    const summary = summarize(log, entries, change)
    if (!change && !summary && mentioned.length === 0 && entries.length <= batchSize) {
      return insert(log, texts, 0, texts.length)
    }
    return transaction(() => {
      for (let n = 0; n < entries.length; n += batchSize) {
        // The fence cannot change within the transaction: only the first insert can be rejected, before any write.
        if (!insert(log, texts, n, Math.min(batchSize, entries.length - n))) return false
      }
      for (const hash of mentioned)
        sql('insert or replace into mentions values (?, ?, ?)').run(hash, log.no, clock.now())
      if (change) updateSummary(name, log, change)
      if (summary) writeSummary(file, log.no, summary)
      return true
    })
  }

  function writeOrForget(name: string, log: Held, fresh: readonly NewEntry[]): boolean {
    try {
      return write(name, log, fresh)
    } catch (error) {
      // The fold may contain entries that were not written.
      log.summary = undefined
      throw error
    }
  }

  function lease(name: string, owner: string, ttlMs: number, terms: LeaseTerms = {}): Lease | 'busy' {
    const key = nameKey(name)
    const now = clock.now()
    const nextFence = (): number => Number(row(sql('update fences set last = last + 1 returning last'))?.[0])
    const decision = transaction((): LeaseDecision => {
      const found = row(sql(`select no, status, ${leaseColumns} from logs where key = ?`), key)
      const made = grantLease(found && leaseRecordOf(found.slice(2)), { owner, ttlMs, terms, now, nextFence })
      if (made.outcome === 'busy') return made
      const { record, outcome } = made
      const number = found?.[0]
      if (number === undefined) {
        if (tombstoneOf(file, name)) throw sessionErased(name)
        const inserting = sql('insert into logs (key, fence, owner, begun, until) values (?, ?, ?, ?, ?)')
        const no = Number(inserting.run(key, record.fence, owner, record.begun, record.until).lastInsertRowid)
        leased.set(name, { no, fence: record.fence, tail: 0, ids: new Map(), summary: undefined })
        return made
      }
      const no = Number(number)
      if (outcome === 'quarantined') {
        const quarantine = 'update logs set quarantined = ?, owner = null, fence = null, due_at = null where no = ?'
        sql(quarantine).run(record.quarantinedAt ?? now, no)
        noteChange(file, key)
      } else if (made.renewed) {
        const renewal = sql('update logs set begun = ?, until = ?, takeovers = ? where no = ?')
        renewal.run(record.begun, record.until, record.takeovers, no)
      } else {
        const taking = sql('update logs set fence = ?, owner = ?, begun = ?, until = ?, takeovers = ? where no = ?')
        taking.run(record.fence, owner, record.begun, record.until, record.takeovers, no)
        leased.set(name, { no, fence: record.fence, tail: tailOf(file, no), ids: undefined, summary: undefined })
      }
      if (outcome === 'granted' && found?.[1] === 'running') {
        const due = "update logs set due_at = ? where no = ? and kind = 'session'"
        sql(due).run(Math.round(now + withJitter(record.until - now)), no)
      }
      return made
    })
    // Thrown outside the transaction, whose rollback would undo the quarantine.
    if (decision.outcome === 'quarantined') throw sessionQuarantined(name)
    return decision.outcome === 'busy' ? 'busy' : decision.lease
  }

  function leaseState(name: string): LeaseState {
    const found = row(sql(`select ${leaseColumns} from logs where key = ?`), nameKey(name))
    return leaseStateOf(found && leaseRecordOf(found), clock.now())
  }

  async function* pagesOf(name: string, after: number): AsyncIterable<readonly Entry[]> {
    alive()
    const [number] = row(sql('select no from logs where key = ?'), nameKey(name)) ?? []
    if (number === undefined) return
    const no = Number(number)
    const tail = tailOf(file, no)
    const writing = leased.get(name)
    // A writer reads the log before it writes: its ids are collected here instead of in a second query.
    const ids = after === 0 && writing && !writing.ids ? indexOf(no, tail) : undefined
    let pages = 0
    let read = 0
    for (const { entries, length } of pagesIn(file, no, Math.max(0, after), tail)) {
      if (ids) for (const { id, offset } of entries) ids.set(id, offset)
      yield entries
      alive()
      // Yields to the event loop while a long log is read.
      read += length
      if (++pages % pagesPerTurn !== 0 && read < lengthPerTurn) continue
      read = 0
      await new Promise(setImmediate)
    }
    if (ids && writing && leased.get(name) === writing && writing.tail === ids.size) writing.ids ??= ids
  }

  function append(name: string, entries: readonly NewEntry[], { after, fence }: AppendPosition): Appended {
    const log = heldLog(name, fence)
    const ids = idsOf(log)
    const { fresh, known } = planAppend(name, entries, ids, log.tail, after)
    const isValid =
      fresh.length > 0 ? writeOrForget(name, log, fresh) : row(sql(`select ${held}`), log.no, fence)?.[0] === 1
    if (!isValid) {
      leased.delete(name)
      throw fenced(name)
    }
    addFresh(fresh, ids, log.tail)
    log.tail += fresh.length
    return {
      offset: log.tail,
      existing: known.length > 0 ? known.map((offset) => entryAt(file, log.no, offset)) : none,
    }
  }

  return {
    lease,
    leaseState,

    releaseQuarantine(name) {
      const freed = `update logs set quarantined = null, takeovers = 0, due_at = case when kind = 'session' then ? end
        where key = ? and quarantined is not null`
      if (sql(freed).run(clock.now(), nameKey(name)).changes !== 1) return false
      transaction(() => noteChange(file, nameKey(name)))
      return true
    },

    release(name, fence) {
      const freed = `update logs set owner = null, fence = null,
        due_at = case when kind = 'session' and status = 'running' then ? else due_at end where key = ? and fence = ?`
      sql(freed).run(clock.now() + releasedMs, nameKey(name), fence)
      if (leased.get(name)?.fence === fence) leased.delete(name)
    },

    append(name, entries, at) {
      try {
        return append(name, entries, at)
      } catch (error) {
        if (!isOutdated(error)) throw error
        // Another handle has written under the same fence: the cached state is incomplete.
        leased.delete(name)
        return append(name, entries, at)
      }
    },

    read: (name, after) => entriesOf(() => pagesOf(name, after)),

    drop: (name) => void leased.delete(name),
  }
}

const nothing: readonly string[] = []

/** The columns that {@link leaseRecordOf} reads. */
export const leaseColumns = 'fence, owner, begun, until, takeovers, quarantined'

/** Returns the lease of a row with the {@link leaseColumns}. Leases of an older release have no begin. */
export function leaseRecordOf([fence, owner, begun, until, takeovers, quarantined]: readonly Value[]): LeaseRecord {
  return {
    fence: Number(fence),
    ...(typeof owner === 'string' && { owner }),
    begun: typeof begun === 'number' ? begun : Number.NEGATIVE_INFINITY,
    until: Number(until),
    takeovers: Number(takeovers),
    ...(typeof quarantined === 'number' && { quarantinedAt: quarantined }),
  }
}

function full(span: number): ProvostError {
  return new ProvostError('log-full', `The log is full: it has ${span - 1} entries.`, {
    hint: 'Continue in a new session.',
  })
}
