import type { NewEntry, SessionSummaries, SessionSummary, SummaryFilter } from '@provost/core'

import { statusOf } from '../kit/session-info.ts'
import type { RunChange } from '../kit/session-info.ts'
import { folded, summaryOf } from '../summary/session-summary.ts'
import { addEntries, readSummary, storedSummary } from '../summary/stored-summary.ts'
import type { StoredSummary } from '../summary/stored-summary.ts'
import { addToSummary, emptySummary } from '../summary/summary-state.ts'
import type { SummaryState } from '../summary/summary-state.ts'
import { readEntry } from '../text/entry-text.ts'
import { nameKey } from '../text/name-key.ts'
import type { PostgresDatabase, Row, Value } from './postgres-database.ts'
import type { TableName } from './postgres-schema.ts'

type Query = PostgresDatabase['query']

/** Entries that the fold of a missing summary reads at once. */
const pageSize = 1_000
/** Logs whose folds a process keeps. A log beyond them is read again from its stored summary. */
const mostKept = 10_000

/** The folds of the logs that this process writes. */
export interface WrittenSummaries {
  /** Adds new entries to the fold of a log. @returns what to write with them; undefined if the summary did not change. */
  add(run: Query, log: WrittenLog, fresh: readonly NewEntry[], change?: RunChange): Promise<StoredSummary | undefined>
  /** Forgets the fold of a log whose entries may not have been written. */
  forget(name: string): void
}

/** A log at the place of an append. */
interface WrittenLog {
  readonly name: string
  readonly tail: number
  readonly fence: number
}

export function writtenSummaries(t: TableName): WrittenSummaries {
  const kept = new Map<string, { readonly fence: number; tail: number; readonly state: SummaryState | 'none' }>()

  async function stateOf(run: Query, { name, tail }: WrittenLog, change?: RunChange): Promise<SummaryState | 'none'> {
    const begins = change?.started?.child === false
    if (tail === 0) return begins ? emptySummary() : 'none'
    const stored = `select l.no, l.kind, s.state from ${t('logs')} as l left join ${t('summaries')} as s on s.log = l.no where l.key = $1`
    const [no, kind, text] = (await run('provost-summary-state', stored, [nameKey(name)]))[0] ?? []
    if (kind === null || kind === undefined ? !begins : kind !== 'session') return 'none'
    const state = readSummary(text) ?? emptySummary()
    await readInto(t, run, state, { no: String(no), tail })
    return state
  }

  return {
    async add(run, log, fresh, change) {
      const { name, tail, fence } = log
      const known = kept.get(name)
      const isKnown =
        known?.fence === fence && known.tail === tail && (known.state !== 'none' || change?.started === undefined)
      const state = isKnown ? known.state : await stateOf(run, log, change)
      kept.delete(name)
      kept.set(name, { fence, tail: tail + fresh.length, state })
      for (const oldest of kept.size > mostKept ? kept.keys() : []) {
        kept.delete(oldest)
        break
      }
      return state === 'none' ? undefined : addEntries(state, fresh, tail)
    },
    forget(name) {
      kept.delete(name)
    },
  }
}

/** Adds the entries of a log up to its tail to a state. */
async function readInto(
  t: TableName,
  run: Query,
  state: SummaryState,
  { no, tail }: { readonly no: string; readonly tail: number },
): Promise<void> {
  const page = `select body from ${t('entries')} where log = $1 and "offset" > $2 and "offset" <= $3 order by "offset"`
  while (state.offset < tail) {
    const values = [no, state.offset, Math.min(tail, state.offset + pageSize)]
    const bodies = await run('provost-summary-entries', page, values)
    // The log was deleted.
    if (bodies.length === 0) return
    for (const [body] of bodies) addToSummary(state, readEntry(String(body)))
  }
}

/**
 * Returns the part of a statement that writes the summary of the log in `held`.
 *
 * @param first number of the first of its 5 parameters.
 */
export function summarySql(t: TableName, first: number): string {
  const [updated, title, rules, waiting, state] = [0, 1, 2, 3, 4].map((n) => `$${first + n}`)
  return `, summed as (
      insert into ${t('summaries')} (log, key, updated, title, rules, waiting, state)
      select no, $1, ${updated}::bigint, ${title}::text, ${rules}::text, ${waiting}::integer, ${state}::text from held
      on conflict (log) do update set updated = excluded.updated, title = excluded.title, rules = excluded.rules,
        waiting = excluded.waiting, state = excluded.state, change = pg_current_xact_id()
    )`
}

export function summaryValues({ updatedAt, title, rules, waiting, state }: StoredSummary): readonly Value[] {
  return [updatedAt, title, rules.replaceAll('\0', ''), waiting, state]
}

/** Notes that the status of a session changed without an entry. */
export async function noteChange(t: TableName, run: Query, name: string): Promise<void> {
  const noted = `update ${t('summaries')} set change = pg_current_xact_id() where key = $1`
  await run('provost-summary-change', noted, [nameKey(name)])
}

/** Returns the summaries of a database. */
export function postgresSummaries({ t, query }: PostgresDatabase): SessionSummaries {
  const columns = "l.origin, case when l.quarantined is null then l.status else 'quarantined' end, s.state"
  const joined = `${t('summaries')} as s join ${t('logs')} as l on l.no = s.log`
  let completed: Promise<void> | undefined

  /** Folds the logs of sessions without a summary: those of an earlier release, or after the table was emptied. */
  async function complete(): Promise<void> {
    const missing = `select no, tail from ${t('logs')} as l where kind = 'session' and no > $1
      and not exists (select from ${t('summaries')} as s where s.log = l.no) order by no limit 100`
    for (let last = '0'; ;) {
      const found = await query('provost-summaries-missing', missing, [last])
      if (found.length === 0) return
      for (const [no, tail] of found) {
        last = String(no)
        const state = emptySummary()
        await readInto(t, query, state, { no: last, tail: Number(tail) })
        // Its writer may have written it meanwhile, or the session was deleted.
        const put = `insert into ${t('summaries')} (log, key, updated, title, rules, waiting, state)
          select no, key, $2, $3, $4, $5, $6 from ${t('logs')} where no = $1 on conflict (log) do nothing`
        await query('provost-summary-put', put, [last, ...summaryValues(storedSummary(state))])
      }
    }
  }

  async function current(): Promise<void> {
    completed ??= complete().catch((error: unknown) => {
      completed = undefined
      throw error
    })
    return completed
  }

  return {
    async list(filter = {}) {
      await current()
      const { conditions, values } = conditionsOf(filter)
      const limit = filter.limit === undefined ? '' : ` limit ${Math.max(0, Math.floor(filter.limit))}`
      const page = `select ${columns} from ${joined} where ${conditions.join(' and ')} order by s.updated desc, s.key desc${limit}`
      return (await query('', page, values)).map(summaryIn)
    },

    async get(sessionId) {
      await current()
      const [found] = await query('provost-summary', `select ${columns} from ${joined} where l.key = $1`, [
        nameKey(sessionId),
      ])
      return found && summaryIn(found)
    },

    async waits({ after, limit }) {
      await current()
      const behind = after ? `where (at, token) > ($2::bigint, $3::text collate "C")` : ''
      const page = `
        select origin, body from (
          select l.origin, w.value::text as body, (w.value ->> 'at')::bigint as at, (w.value ->> 'token') collate "C" as token
          from ${joined}, json_array_elements(s.state::json -> 'waits') as w
          where s.waiting > 0 and l.quarantined is null
        ) as open ${behind} order by at, token limit $1`
      const values = after ? [limit, after.at, after.token] : [limit]
      const found = await query(after ? 'provost-waits-after' : 'provost-waits', page, values)
      return found.map(([origin, wait]) => ({
        sessionId: JSON.parse(String(origin)).id,
        wait: JSON.parse(String(wait)),
      }))
    },

    async changes(mark) {
      await current()
      // A snapshot says exactly which transactions a look has seen, in whatever order they were committed.
      if (mark === undefined) {
        const [now] = await query('provost-snapshot', 'select pg_current_snapshot()::text', [])
        return { sessions: [], mark: String(now?.[0]) }
      }
      const text = `
        select now.mark, ${columns} from (select pg_current_snapshot()::text as mark) as now
        left join (${joined}) on s.change >= pg_snapshot_xmin($1::pg_snapshot)
          and not pg_visible_in_snapshot(s.change, $1::pg_snapshot)
          and pg_visible_in_snapshot(s.change, pg_current_snapshot())`
      const found = await query('provost-summary-changes', text, [mark])
      const sessions = found.filter(([, origin]) => typeof origin === 'string')
      return { sessions: sessions.map((row) => summaryIn(row.slice(1))), mark: markIn(found[0]) ?? mark }
    },
  }
}

function markIn(row: Row | undefined): string | undefined {
  return typeof row?.[0] === 'string' ? row[0] : undefined
}

function conditionsOf(filter: SummaryFilter): { conditions: readonly string[]; values: readonly Value[] } {
  const { before, q, status, agent, principal, rule, from, to } = filter
  const conditions = ["l.kind = 'session'"]
  const values: Value[] = []
  /** Adds a condition; each `?` is the next value. */
  const where = (condition: string, ...given: readonly Value[]): void => {
    let at = values.length
    conditions.push(condition.replaceAll('?', () => `$${++at}`))
    values.push(...given)
  }
  if (before) where('(s.updated, s.key) < (?::bigint, ?::text collate "C")', before.updatedAt, nameKey(before.id))
  if (q !== undefined) where('(strpos(s.title, ?) > 0 or s.key = ?)', folded(q).replaceAll('\0', ''), nameKey(q))
  if (status === 'quarantined') conditions.push('l.quarantined is not null')
  else if (status !== undefined) where('l.quarantined is null and l.status = ?', status)
  if (agent !== undefined) where('l.agent = ?', agent.replaceAll('\0', ''))
  if (principal !== undefined) where('l.principal = ?', nameKey(principal))
  if (rule !== undefined) where('strpos(s.rules, ?) > 0', `\n${rule.replaceAll('\0', '')}\n`)
  if (from !== undefined) where('s.updated >= ?::bigint', from)
  if (to !== undefined) where('s.updated < ?::bigint', to)
  return { conditions, values }
}

function summaryIn([origin, status, state]: Row): SessionSummary {
  const { id, agent, principal } = JSON.parse(String(origin))
  const summary = readSummary(state) ?? emptySummary()
  const info = { id, agent, status: statusOf(status), updatedAt: summary.updatedAt }
  return summaryOf({ ...info, ...(principal !== undefined && { principal }) }, summary)
}
