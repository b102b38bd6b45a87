import type {
  Appended,
  AppendPosition,
  Entry,
  EntryReader,
  Lease,
  LeaseState,
  LeaseTerms,
  NewEntry,
} from '@provost/core'
import { mostTakeovers, sessionQuarantined } from '@provost/core'

import { planAppend } from '../kit/append-plan.ts'
import { hashesIn } from '../kit/blob-mentions.ts'
import { runChange } from '../kit/session-info.ts'
import { fenced, sessionErased } from '../kit/store-error.ts'
import { columnsOf, isLong, toColumn } from '../text/column-text.ts'
import { entriesOf, readEntries, readEntry, writeEntry } from '../text/entry-text.ts'
import { nameKey } from '../text/name-key.ts'
import { releasedMs } from '../wake/due-time.ts'
import { isTaken } from './postgres-database.ts'
import type { PostgresDatabase, Row, Value } from './postgres-database.ts'
import { isErased, keysOf, tombstoneOf } from './postgres-erasure.ts'
import { noteChange, summarySql, summaryValues, writtenSummaries } from './postgres-summary.ts'
import { dueBehindLease, lapsed, msOf } from './postgres-wake.ts'

/** The logs of a database and the right to write them. */
export interface PostgresLogs {
  lease(name: string, owner: string, ttlMs: number, terms?: LeaseTerms): Promise<Lease | 'busy'>
  leaseState(name: string): Promise<LeaseState>
  releaseQuarantine(name: string): Promise<boolean>
  release(name: string, fence: number): Promise<void>
  append(name: string, entries: readonly NewEntry[], at: AppendPosition): Promise<Appended>
  read(name: string, after: number): EntryReader
}

/** A century: a longer lease has the same effect. */
const longestMs = 3_155_760_000_000
/** Approximate bytes of a page; a page always has at least one entry and at most the maximum number. */
const pageBytes = 4_000_000
const longestPage = 4_000
type Query = PostgresDatabase['query']

/** Statements that append, each with its name. */
type Appends = Readonly<
  Record<'one' | 'several' | 'mentioning' | 'summed' | 'both', readonly [name: string, text: string]>
>

/** Watchers of inboxes in this process. */
export interface InboxListener {
  isWaiting(sessionId: string): boolean
  /** Receives the last delivery of an inbox from an append. */
  delivered(sessionId: string, last: string): void
}

export function postgresLogs(database: PostgresDatabase, inbox: InboxListener): PostgresLogs {
  const { t, channel, query, transaction } = database
  const summaries = writtenSummaries(t)
  // Whether another owner takes it from a dead one: only such a row passes `where` with an owner.
  const takeover = `(l.owner <> excluded.owner and not $4::boolean)`
  const refused = `coalesce(l.quarantined is not null or (${takeover} and l.takeovers >= ${mostTakeovers}), false)`
  const leaseSql = `
    insert into ${t('logs')} as l (key, fence, owner, begun, until)
    select $1, nextval('${t('fences').replaceAll("'", "''")}'), $2, now, now + $3 * interval '1 millisecond'
    from clock_timestamp() as now where not ${isErased(t, '$6')}
    on conflict (key) do update set
      owner = case when ${refused} then null else excluded.owner end,
      begun = excluded.begun,
      until = excluded.until,
      fence = case when l.owner = excluded.owner or ${refused} then l.fence else excluded.fence end,
      takeovers = case when ${refused} then l.takeovers when ${takeover} then l.takeovers + 1
        when l.owner = excluded.owner and $5::boolean then 0 else l.takeovers end,
      quarantined = case when ${refused} then coalesce(l.quarantined, clock_timestamp()) end,
      due_at = case when ${refused} then null
        when l.status = 'running' and l.kind = 'session' then ${dueBehindLease('excluded.until')} else l.due_at end
    where l.owner is null or l.owner = excluded.owner or ${lapsed}
    returning fence, takeovers, quarantined is not null`
  const stateSql = `
    select case when owner is null then 'none' when ${lapsed} then 'lapsed' else 'alive' end, takeovers,
      extract(epoch from quarantined) * 1000, extract(epoch from until) * 1000, owner, extract(epoch from begun) * 1000
    from ${t('logs')} as l where key = $1`

  // One round trip: the valid writer moves the tail and inserts the entries after it. A concurrent writer waits for the
  // row and then finds another tail or fence.
  const appendSql = (result: string, more = ''): string => `
    with held as (
      update ${t('logs')} set
        tail = tail + cardinality($4::text[]),
        updated_at = $6,
        status = coalesce($7, status),
        origin = case when kind is null then $9 else origin end,
        principal = case when kind is null then $10 else principal end,
        agent = case when kind is null then $13 else agent end,
        kind = coalesce(kind, $8),
        due_at = case when coalesce(kind, $8) is distinct from 'session' then null
          when $7 = 'running' then ${dueBehindLease('until')}
          when $7 = 'suspended' and ($12::bigint is null or mail > $12) then ${msOf('clock_timestamp()')}
          when $7 = 'suspended' then $11::bigint
          when mail > $12 then ${msOf('clock_timestamp()')}
          when $7 is null then due_at else $11::bigint end
      where key = $1 and fence = $2 and owner is not null and tail = $3
      returning no, watched_until > statement_timestamp() as watched
    ), written as (
      insert into ${t('entries')} (log, "offset", id, body)
      select no, $3 + ord, id, body
      from held, unnest($4::text[], string_to_array($5, E'\\n')) with ordinality as e (id, body, ord)
    )${more}
    select ${result} from held`
  const mentionSql = `, mentioned as (
      insert into ${t('mentions')} (hash, log)
      select hash, no from held, ${t('blobs')} where hash = any($14::text[])
      on conflict (hash, log) do update set at = excluded.at
    )`
  // Most appends have one entry that does not affect the list: a smaller statement for them.
  const appendOneSql = (result: string): string => `
    with held as (
      update ${t('logs')} set tail = tail + 1, updated_at = $6
      where key = $1 and fence = $2 and owner is not null and tail = $3
      returning no, watched_until > statement_timestamp() as watched
    ), written as (
      insert into ${t('entries')} (log, "offset", id, body) select no, $3 + 1, $4, $5 from held
    )
    select ${result} from held`
  const appends = (suffix: string, result: string): Appends => ({
    one: [`provost-append-one${suffix}`, appendOneSql(result)],
    several: [`provost-append${suffix}`, appendSql(result)],
    mentioning: [`provost-append-mentions${suffix}`, appendSql(result, mentionSql)],
    summed: [`provost-append-summed${suffix}`, appendSql(result, summarySql(t, 14))],
    both: [`provost-append-both${suffix}`, appendSql(result, mentionSql + summarySql(t, 15))],
  })
  const notify = `case when watched then pg_notify('${channel.replaceAll("'", "''")}', $1)::text end`
  const plain = appends('', notify)
  // For a watched inbox the append also returns its last delivery, since notifications can be lost.
  const withInbox = appends('-hearing', `${notify}, (select last from ${t('inboxes')} where session = $1)`)

  async function insert(
    run: Query,
    name: string,
    fresh: readonly NewEntry[],
    tail: number,
    fence: number,
  ): Promise<boolean> {
    const bodies = fresh.map((entry, n) => writeEntry(entry, tail + n + 1))
    const change = runChange(fresh)
    const origin = change?.started
    const hashes = bodies.flatMap(hashesIn)
    const summary = await summaries.add(run, { name, tail, fence }, fresh, change)
    const [only] = fresh
    if (only && fresh.length === 1 && !change && !summary && hashes.length === 0) {
      const values = [nameKey(name), fence, tail, toColumn(only.id), bodies[0] ?? '', only.at]
      return append(run, name, 'one', values)
    }
    const values: Value[] = [
      nameKey(name),
      fence,
      tail,
      fresh.map(({ id }) => toColumn(id)),
      // JSON has no bare newline, so one joined text needs no array quoting, which would dominate the cost.
      bodies.join('\n'),
      fresh.at(-1)?.at ?? 0,
      change?.status ?? null,
      origin ? (origin.child ? 'child' : 'session') : null,
      origin ? JSON.stringify({ id: name, ...origin }) : null,
      origin?.principal === undefined ? null : nameKey(origin.principal),
      change?.due ?? null,
      change?.seen ?? null,
      origin?.agent ?? null,
    ]
    const summed = summary ? summaryValues(summary) : []
    if (hashes.length > 0) return append(run, name, summary ? 'both' : 'mentioning', [...values, hashes, ...summed])
    return append(run, name, summary ? 'summed' : 'several', [...values, ...summed])
  }

  /** Like `insert`; forgets the fold of the summary if the entries may not have been written. */
  async function insertOrForget(...given: Parameters<typeof insert>): Promise<boolean> {
    let written = false
    try {
      return (written = await insert(...given))
    } finally {
      if (!written) summaries.forget(given[1])
    }
  }

  /** @returns whether the fence was valid and the tail was at the writer's offset. */
  async function append(run: Query, name: string, kind: keyof Appends, values: readonly Value[]): Promise<boolean> {
    const [statement, text] = (inbox.isWaiting(name) ? withInbox : plain)[kind]
    const [row] = await run(statement, text, values)
    if (typeof row?.[1] === 'string') inbox.delivered(name, row[1])
    return row !== undefined
  }

  /** Handles an unexpected tail, or ids that the log has already, under the lock of the log. */
  function reconcile(name: string, entries: readonly NewEntry[], { after, fence }: AppendPosition): Promise<Appended> {
    return transaction(async (run) => {
      const [held] = await run(
        'provost-hold',
        `select no, tail from ${t('logs')} where key = $1 and fence = $2 and owner is not null for update`,
        [nameKey(name), fence],
      )
      if (!held) throw fenced(name)
      const [no, tail] = [String(held[0]), Number(held[1])]
      const ids = new Map<string, number>()
      const stored = new Map<number, string>()
      const byColumn = new Map(entries.flatMap(({ id }) => columnsOf(id).map((column) => [column, id])))
      const found = await run(
        'provost-known',
        `select id, "offset", body from ${t('entries')} where log = $1 and id = any($2::text[])`,
        [no, [...byColumn.keys()]],
      )
      for (const [id, offset, body] of found) {
        ids.set(byColumn.get(String(id)) ?? '', Number(offset))
        stored.set(Number(offset), String(body))
      }
      const { fresh, known } = planAppend(name, entries, ids, tail, after)
      if (fresh.length > 0 && !(await insertOrForget(run, name, fresh, tail, fence))) throw fenced(name)
      return { offset: tail + fresh.length, existing: known.map((offset) => readEntry(stored.get(offset) ?? '')) }
    })
  }

  async function* pagesOf(name: string, after: number): AsyncIterable<readonly Entry[]> {
    const [log] = await query('provost-tail', `select no, tail from ${t('logs')} where key = $1`, [nameKey(name)])
    if (!log) return
    const [no, end] = [String(log[0]), Number(log[1])]
    const page = (from: number, rows: number): Promise<readonly Row[]> => {
      const values: readonly Value[] = [no, from, Math.min(end, from + rows)]
      const text = `select body from ${t('entries')} where log = $1 and "offset" > $2 and "offset" <= $3 order by "offset"`
      const found = query('provost-read', text, values)
      // A reader that stops early never awaits the page that was fetched ahead.
      found.catch(() => {})
      return found
    }
    let from = Math.max(0, after)
    let size = 64
    let next = from < end ? page(from, size) : undefined
    while (next) {
      const rows: readonly Row[] = await next
      // The log was deleted during the read.
      if (rows.length === 0) return
      from += size
      let bytes = 0
      for (const [body] of rows) bytes += String(body).length
      size = Math.min(longestPage, Math.max(1, Math.floor((pageBytes * rows.length) / Math.max(1, bytes))))
      // Fetches the next page while this one is processed.
      next = from < end ? page(from, size) : undefined
      yield readEntries(rows.map(([body]) => String(body)))
    }
  }

  return {
    async lease(name, owner, ttlMs, { part = false, steady = false } = {}) {
      const values = [nameKey(name), toColumn(owner), Math.min(ttlMs, longestMs), part, steady, keysOf(name)]
      const [row] = await query('provost-lease', leaseSql, values)
      if (!row) {
        if (await tombstoneOf(database, name)) throw sessionErased(name)
        return 'busy'
      }
      const [fence, takeovers, quarantined] = row
      if (String(quarantined).startsWith('t')) {
        await noteChange(t, query, name)
        throw sessionQuarantined(name)
      }
      return { fence: Number(fence), takeovers: Number(takeovers) }
    },

    async leaseState(name) {
      const [row] = await query('provost-lease-state', stateSql, [nameKey(name)])
      const [holder, takeovers, quarantinedAt, until, owner, begun] = row ?? []
      return {
        holder: holder === 'alive' || holder === 'lapsed' ? holder : 'none',
        ...(typeof owner === 'string' && { owner }),
        ...(typeof owner === 'string' && begun !== null && { renewedAt: Math.round(Number(begun)) }),
        takeovers: Number(takeovers ?? 0),
        ...(holder === 'alive' && { until: Math.round(Number(until)) }),
        ...(quarantinedAt !== null &&
          quarantinedAt !== undefined && { quarantinedAt: Math.round(Number(quarantinedAt)) }),
      }
    },

    async releaseQuarantine(name) {
      const freed = `update ${t('logs')} set quarantined = null, takeovers = 0,
        due_at = case when kind = 'session' then ${msOf('clock_timestamp()')} end
        where key = $1 and quarantined is not null returning no`
      if ((await query('provost-release-quarantine', freed, [nameKey(name)])).length !== 1) return false
      await noteChange(t, query, name)
      return true
    },

    async release(name, fence) {
      const freed = `update ${t('logs')} set owner = null, due_at = case
        when kind = 'session' and status = 'running' then ${msOf('clock_timestamp()')} + ${releasedMs} else due_at end
        where key = $1 and fence = $2`
      await query('provost-release', freed, [nameKey(name), fence])
      summaries.forget(name)
    },

    async append(name, entries, at) {
      // No entries, or long ids, whose duplicates the table does not detect by itself.
      if (entries.length === 0 || entries.some(({ id }) => isLong(id))) return reconcile(name, entries, at)
      try {
        const written = await insertOrForget(query, name, entries, at.after, at.fence)
        return written ? { offset: at.after + entries.length, existing: [] } : await reconcile(name, entries, at)
      } catch (error) {
        if (!isTaken(error)) throw error
        return reconcile(name, entries, at)
      }
    },

    read: (name, after) => entriesOf(() => pagesOf(name, after)),
  }
}
