import { setImmediate as turn } from 'node:timers/promises'

import type { SessionSummaries, SessionSummary, SummaryFilter } from '@provost/core'

import { statusOf } from '../kit/session-info.ts'
import { folded, summaryOf } from '../summary/session-summary.ts'
import { readSummary, storedSummary } from '../summary/stored-summary.ts'
import type { StoredSummary } from '../summary/stored-summary.ts'
import { addToSummary, emptySummary } from '../summary/summary-state.ts'
import { readEntry } from '../text/entry-text.ts'
import { nameKey } from '../text/name-key.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { row, rows } from './sqlite-row.ts'
import type { Value } from './sqlite-row.ts'
import { logSpan } from './sqlite-schema.ts'

const columns = "origin, case when quarantined is null then status else 'quarantined' end, state"
const joined = 'summaries as s join logs as l on l.no = s.log'
/** Entries that the fold of a missing summary reads at once. */
const pageSize = 1_000
/** Changed summaries of one look; more come with the next one. */
const mostChanges = 1_000

/** Writes the summary of a session. Runs in the transaction of its entries. */
export function writeSummary({ sql }: SqliteFile, no: number, summary: StoredSummary): void {
  const { updatedAt, title, rules, waiting, state } = summary
  const put = `insert into summaries (log, key, updated, title, rules, waiting, state, change)
    values (?, (select key from logs where no = ?), ?, ?, ?, ?, ?, ?)
    on conflict (log) do update set updated = excluded.updated, title = excluded.title, rules = excluded.rules,
      waiting = excluded.waiting, state = excluded.state, change = excluded.change`
  sql(put).run(no, no, updatedAt, title, rules, waiting, state, nextChange({ sql }))
}

/** Notes that the status of a session changed without an entry. Runs in a transaction. */
export function noteChange({ sql }: SqliteFile, key: string): void {
  sql('update summaries set change = ? where key = ?').run(nextChange({ sql }), key)
}

function nextChange({ sql }: Pick<SqliteFile, 'sql'>): number {
  return Number(row(sql('update changes set last = last + 1 returning last'))?.[0])
}

/** Returns the summaries of a database. @param run converts errors. */
export function sqliteSummaries(file: SqliteFile, run: <T>(work: () => T) => Promise<T>): SessionSummaries {
  const { sql, transaction } = file
  let completed: Promise<void> | undefined

  /** Folds the logs of sessions without a summary: those of an earlier release, or after the table was emptied. */
  async function complete(): Promise<void> {
    const missing =
      "select no from logs where kind = 'session' and no not in (select log from summaries) and no > ? order by no limit 100"
    for (let last = 0; ;) {
      const found = await run(() => rows(sql(missing), last))
      if (found.length === 0) return
      for (const [number] of found) {
        last = Number(number)
        await foldLog(last)
      }
    }
  }

  async function foldLog(no: number): Promise<void> {
    const state = emptySummary()
    const page = sql('select body from entries where place > ? and place < ? order by place limit ?')
    for (;;) {
      const bodies = await run(() => rows(page, no * logSpan + state.offset, (no + 1) * logSpan, pageSize))
      for (const [body] of bodies) addToSummary(state, readEntry(String(body)))
      if (bodies.length < pageSize) break
      await turn()
    }
    await run(() =>
      transaction(() => {
        // Its writer may have written it meanwhile, or the session was deleted.
        const isMissing = row(sql('select 1 from logs where no = ? and no not in (select log from summaries)'), no)
        if (isMissing) writeSummary(file, no, storedSummary(state))
      }),
    )
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
      const limit = filter.limit ?? Number.MAX_SAFE_INTEGER
      const page = `select ${columns} from ${joined} where ${conditions.join(' and ')} order by s.updated desc, s.key desc limit ?`
      return run(() => rows(sql(page), ...values, limit).map(summaryIn))
    },

    async get(sessionId) {
      await current()
      const found = await run(() => row(sql(`select ${columns} from ${joined} where l.key = ?`), nameKey(sessionId)))
      return found && summaryIn(found)
    },

    async waits({ after, limit }) {
      await current()
      const at = `json_extract(w.value, '$.at')`
      const token = `json_extract(w.value, '$.token')`
      const behind = after ? `and (${at} > ? or (${at} = ? and ${token} > ?))` : ''
      const page = `select origin, w.value from ${joined}, json_each(s.state, '$.waits') as w
        where s.waiting > 0 and l.quarantined is null ${behind} order by ${at}, ${token} limit ?`
      const values = after ? [after.at, after.at, after.token] : []
      return run(() =>
        rows(sql(page), ...values, limit).map(([origin, wait]) => ({
          sessionId: JSON.parse(String(origin)).id,
          wait: JSON.parse(String(wait)),
        })),
      )
    },

    async changes(mark) {
      await current()
      return run(() => {
        const last = String(row(sql('select last from changes'))?.[0])
        if (mark === undefined || mark === last) return { sessions: [], mark: last }
        const found = rows(
          sql(`select ${columns}, change from ${joined} where s.change > ? order by s.change limit ?`),
          Number(mark),
          mostChanges,
        )
        const isWhole = found.length < mostChanges
        return { sessions: found.map(summaryIn), mark: isWhole ? last : String(found.at(-1)?.[3]) }
      })
    },
  }
}

function conditionsOf(filter: SummaryFilter): { conditions: readonly string[]; values: readonly (string | number)[] } {
  const { before, q, status, agent, principal, rule, from, to } = filter
  const conditions = ["l.kind = 'session'"]
  const values: (string | number)[] = []
  const where = (condition: string, ...given: readonly (string | number)[]): void => {
    conditions.push(condition)
    values.push(...given)
  }
  if (before) where('(s.updated, s.key) < (?, ?)', before.updatedAt, nameKey(before.id))
  if (q !== undefined) where('(instr(s.title, ?) > 0 or s.key = ?)', folded(q), nameKey(q))
  if (status === 'quarantined') conditions.push('l.quarantined is not null')
  else if (status !== undefined) where('l.quarantined is null and l.status = ?', status)
  if (agent !== undefined) where('l.agent = ?', agent)
  if (principal !== undefined) where('l.principal = ?', nameKey(principal))
  if (rule !== undefined) where('instr(s.rules, ?) > 0', `\n${rule}\n`)
  if (from !== undefined) where('s.updated >= ?', from)
  if (to !== undefined) where('s.updated < ?', to)
  return { conditions, values }
}

function summaryIn([origin, status, state]: readonly Value[]): SessionSummary {
  const { id, agent, principal } = JSON.parse(String(origin))
  const summary = readSummary(state) ?? emptySummary()
  const info = { id, agent, status: statusOf(status), updatedAt: summary.updatedAt }
  return summaryOf({ ...info, ...(principal !== undefined && { principal }) }, summary)
}
