import type { DueSession, SessionStore } from '@provost/core'

import { nameKey } from '../text/name-key.ts'
import { claimWindow, dueSession, jitterShare } from '../wake/due-time.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import type { TableName } from './postgres-schema.ts'

/** A time in SQL as milliseconds since 1970. */
export const msOf = (time: string): string => `(extract(epoch from ${time}) * 1000)::bigint`

/** When a run is due whose lease has this end: after it, with a random part of its duration. */
export const dueBehindLease = (until: string): string =>
  msOf(`(${until} + (${until} - clock_timestamp()) * random() * ${jitterShare})`)

/** Whether a lease is no longer valid. One that begins in the future was taken before the clock was set back. */
export const lapsed = `(l.until <= clock_timestamp() or l.begun - clock_timestamp() > l.until - l.begun)`

/** Returns the statement that records a delivery in the row of its session; `head` has its number. */
export const noteMail = (t: TableName): string => `
  update ${t('logs')} set mail = head.last, due_at = case
    when kind is distinct from 'session' or quarantined is not null then null
    when status = 'running' then due_at else ${msOf('clock_timestamp()')} end
  from head where key = $1`

/** The wake index of a database: see `claimDue` and `setDue` of a store. */
export function postgresWake({ t, query }: PostgresDatabase): Required<Pick<SessionStore, 'claimDue' | 'setDue'>> {
  // Claimers at the same moment skip the rows of each other.
  const claimSql = `
    with now as materialized (select ${msOf('clock_timestamp()')} as ms),
    found as materialized (
      select l.* from now, unnest($1::text[]) as a (agent), lateral (
        select no, due_at, principal, until, owner is not null and not ${lapsed} as held from ${t('logs')} as l
        where l.agent = a.agent and l.due_at <= now.ms and (l.principal is null or l.principal <> all($4::text[]))
        order by l.due_at limit $5 for update skip locked
      ) as l
    ),
    ranked as (
      select *, row_number() over (partition by principal order by due_at) as turn from found
    ),
    chosen as (select * from ranked order by turn, due_at limit $2)
    update ${t('logs')} as l set due_at = least(
      now.ms + ($3::bigint * (1 + random() * ${jitterShare}))::bigint,
      case when chosen.held then ${msOf('chosen.until')} + 1 end
    )
    from chosen, now where l.no = chosen.no
    returning l.origin, l.takeovers, chosen.held::text`
  const setSql = `
    update ${t('logs')} as l set due_at = case when mail > $3::bigint then ${msOf('clock_timestamp()')} else $2::bigint end
    where key = $1 and kind = 'session' and quarantined is null and (owner is null or ${lapsed}) and tail <= coalesce($4, tail)`

  return {
    async claimDue(options) {
      const { agents, limit, hiddenMs, except = [] } = options
      if (limit <= 0) return []
      const values = [
        [...new Set(agents)],
        limit,
        Math.round(hiddenMs),
        except.map((id) => nameKey(id)),
        claimWindow(options),
      ]
      const claimed: DueSession[] = []
      for (const [origin, takeovers, held] of await query('provost-claim', claimSql, values)) {
        if (String(held).startsWith('t')) continue
        const { id, agent, principal } = JSON.parse(String(origin))
        claimed.push(dueSession(id, agent, principal, Number(takeovers)))
      }
      return claimed
    },

    async setDue(sessionId, { at, seen, after }) {
      // Without `seen`, no number of a delivery is greater than null.
      const read = [seen === undefined ? null : Number(seen), after ?? null]
      await query('provost-set-due', setSql, [nameKey(sessionId), at ?? null, ...read])
    },
  }
}
