import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { startPostgres } from '@provost/testing'
import { Client } from 'pg'
import type { SessionStore } from 'provost'
import { postgresStore } from 'provost/postgres'
import { sqliteStore } from 'provost/sqlite'

/** A store with many sessions, and how some of them are made due again. */
export interface Place {
  readonly store: SessionStore
  rearm(): Promise<void>
  close(): Promise<void>
}

/** Sessions that are listed and claimed in each size. The others are idle, or wait for months. */
export const running = 256
export const due = 32

/** The columns of session `n` of `all`, in SQL that both databases understand. */
const columns = (far: number): readonly (readonly [name: string, sql: string])[] => [
  ['key', `'s' || n`],
  ['kind', `'session'`],
  ['agent', `'desk'`],
  ['origin', `'{"id":"s' || n || '","agent":"desk","child":false,"principal":"p' || n % 500 || '"}'`],
  ['principal', `'p' || n % 500`],
  ['status', `case when n <= ${running} then 'running' when n % 5 = 0 then 'suspended' else 'idle' end`],
  ['due_at', `case when n <= ${running} or n % 5 = 0 then ${far} + n end`],
]
const isDue = `key in (select key from logs_due_again)`

const far = Date.now() + 90 * 86_400_000

export async function sqlitePlace(sessions: number): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'provost-wakes-'))
  const path = join(folder, 'sessions.db')
  const store = sqliteStore(path)
  const db = new DatabaseSync(path)
  const all = columns(far)
  const numbers = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sessions})`
  db.exec(`begin;
    insert into logs (${all.map(([name]) => name).join(', ')})
      ${numbers} select ${all.map(([, sql]) => sql).join(', ')} from numbers;
    insert into entries select no * 16777216 + 1, '{"id":"x","at":1,"type":"memo"}' from logs;
    create temporary table logs_due_again as select key from logs where no % 5 = 0 and no > ${running} limit ${due};
    commit; analyze`)
  return {
    store,
    rearm: async () => db.exec(`update logs set due_at = 1 where ${isDue}`),
    async close() {
      db.close()
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

export async function postgresPlace(sessions: number): Promise<Place> {
  const server = await startPostgres()
  const store = postgresStore(server.url, { connections: 2 })
  await store.leaseState('x')
  const db = new Client({ connectionString: server.url })
  await db.connect()
  const all = columns(far)
  await db.query(`set search_path = provost;
    insert into logs (${all.map(([name]) => name).join(', ')}, tail)
      select ${all.map(([, sql]) => sql).join(', ')}, 1 from generate_series(1, ${sessions}) as n;
    create temporary table logs_due_again as select key from logs where no % 5 = 0 and no > ${running} limit ${due}`)
  await db.query('vacuum analyze provost.logs')
  return {
    store,
    rearm: async () => void (await db.query(`update provost.logs set due_at = 1 where ${isDue}`)),
    async close() {
      await db.end()
      await store.close()
      await server.stop()
    },
  }
}
