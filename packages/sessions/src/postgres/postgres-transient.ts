import type { TransientBuffer } from '@provost/core'
import { transientLimits } from '@provost/core'

import { nameKey } from '../text/name-key.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import { keysOf } from './postgres-erasure.ts'

/** Returns the buffer of transient events, in a table beside the logs. */
export function postgresTransient({ t, query }: PostgresDatabase): TransientBuffer {
  // `count` and `length` are running totals: a log's size is the last piece less the totals before the first.
  const keepSql = `
    with given as (
      select p.*, count(*) over so_far as count, sum(p.own) over so_far as length
      from unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[])
        with ordinality as p (log, "at", first, last, own, body, session, nth)
      window so_far as (partition by p.log order by p.nth rows unbounded preceding)
    )
    insert into ${t('passing')} (log, "at", first, last, count, length, own, body)
    select g.log, g."at", g.first, g.last, g.count + coalesce(e.count, 0), g.length + coalesce(e.length, 0), g.own, g.body
    from given as g
    left join lateral (
      select count, length from ${t('passing')} where log = g.log order by "at" desc, first desc limit 1
    ) as e on true
    left join lateral (
      select count - 1 as count, length - own as length from ${t('passing')} where log = g.log order by "at", first limit 1
    ) as b on true
    where not exists (select from ${t('erased')} as x where x.key in (g.log, g.session))
      and g.count + coalesce(e.count, 0) - coalesce(b.count, 0) <= ${transientLimits.pieces}
      and g.length + coalesce(e.length, 0) - coalesce(b.length, 0) <= ${transientLimits.length}
    on conflict do nothing
    returning log`

  return {
    async keep(pieces) {
      if (pieces.length === 0) return []
      const kept = await query('provost-pass', keepSql, [
        pieces.map(({ log }) => nameKey(log)),
        pieces.map(({ offset }) => String(offset)),
        pieces.map(({ from }) => String(from)),
        pieces.map(({ to }) => String(to)),
        pieces.map(({ body }) => String(body.length)),
        pieces.map(({ body }) => body),
        pieces.map(({ log }) => keysOf(log).at(-1) ?? ''),
      ])
      const left = new Map<string, number>()
      for (const { log } of pieces) left.set(nameKey(log), (left.get(nameKey(log)) ?? 0) + 1)
      for (const [key] of kept) left.set(String(key), (left.get(String(key)) ?? 0) - 1)
      return [...new Set(pieces.map(({ log }) => log))].filter((log) => left.get(nameKey(log)) !== 0)
    },

    async read(log, offset) {
      const text = `select "at", first, last, body from ${t('passing')}
        where log = $1 and "at" >= $2 order by "at", first`
      const found = await query('provost-passing', text, [nameKey(log), offset])
      return found.map(([at, from, to, body]) => ({
        log,
        offset: Number(at),
        from: Number(from),
        to: Number(to),
        body: String(body),
      }))
    },

    async drop(places) {
      if (places.length === 0) return
      const text = `delete from ${t('passing')} as p using unnest($1::text[], $2::int[]) as d (log, "at")
        where p.log = d.log and p."at" < d."at"`
      await query('provost-drop-passing', text, [
        places.map(({ log }) => nameKey(log)),
        places.map(({ offset }) => String(offset)),
      ])
    },
  }
}
