import type { ClaimOptions, DueSession, DueTime, Timestamp } from '@provost/core'

import { leaseStateOf } from '../kit/lease-record.ts'
import { nameKey } from '../text/name-key.ts'
import { claimWindow, dueBehind, dueSession, inTurns } from '../wake/due-time.ts'
import type { DueRow } from '../wake/due-time.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { leaseColumns, leaseRecordOf } from './sqlite-log.ts'
import { tailOf } from './sqlite-pages.ts'
import { row, rows } from './sqlite-row.ts'

interface Candidate extends DueRow<number> {
  readonly agent: string
}

/** Records that a session has a delivery. Runs in the transaction of the delivery. */
export function noteMail({ sql }: SqliteFile, now: Timestamp, sessionId: string, seq: number): void {
  sql(
    `update logs set mail = ?, due_at = case
       when kind is not 'session' or quarantined is not null then null
       when status = 'running' then due_at else ? end
     where key = ?`,
  ).run(seq, now, nameKey(sessionId))
}

/** Claims due sessions: see `claimDue` of a store. */
export function claimDue(file: SqliteFile, now: Timestamp, options: ClaimOptions): readonly DueSession[] {
  const { sql, transaction } = file
  const { agents, limit, hiddenMs, except = [] } = options
  const excluded = JSON.stringify(except.map(nameKey))
  const due = sql(
    `select no, due_at, principal from logs indexed by logs_due where agent = ? and due_at <= ?
       and (principal is null or principal not in (select value from json_each(?))) order by due_at limit ?`,
  )
  const find = (): readonly Candidate[] =>
    [...new Set(agents)].flatMap((agent) =>
      rows(due, agent, now, excluded, claimWindow(options)).map(([no, at, principal]) => ({
        key: Number(no),
        due: Number(at),
        principal: typeof principal === 'string' ? principal : undefined,
        agent,
      })),
    )
  // A poll without due sessions, as most are, takes no write lock.
  if (limit <= 0 || find().length === 0) return []
  return transaction(() => {
    const claimed: DueSession[] = []
    for (const { key: no, agent } of inTurns(find(), limit)) {
      const [origin, ...lease] = row(sql(`select origin, ${leaseColumns} from logs where no = ?`), no) ?? []
      const state = leaseStateOf(leaseRecordOf(lease), now)
      sql('update logs set due_at = ? where no = ?').run(Math.round(dueBehind(state, now, hiddenMs)), no)
      if (state.holder === 'alive') continue
      const { id, principal } = JSON.parse(String(origin))
      claimed.push(dueSession(id, agent, principal, state.takeovers))
    }
    return claimed
  })
}

/** Sets when a session is due next: see `setDue` of a store. */
export function setDue(file: SqliteFile, now: Timestamp, sessionId: string, { at, seen, after }: DueTime): void {
  const { sql, transaction } = file
  transaction(() => {
    const found = row(sql(`select no, mail, kind, ${leaseColumns} from logs where key = ?`), nameKey(sessionId))
    const [no, mail, kind, ...lease] = found ?? []
    if (no === undefined || kind !== 'session') return
    const { holder, quarantinedAt } = leaseStateOf(leaseRecordOf(lease), now)
    if (holder === 'alive' || quarantinedAt !== undefined) return
    if (after !== undefined && tailOf(file, Number(no)) > after) return
    const isUnread = seen !== undefined && Number(mail) > Number(seen)
    sql('update logs set due_at = ? where no = ?').run(isUnread ? now : (at ?? null), no)
  })
}
