import type { SessionStore } from 'provost'
import { postgresStore } from 'provost/postgres'
import { sqliteStore } from 'provost/sqlite'

/** The sessions are in PostgreSQL if DATABASE_URL is set, else in the file STORE. */
export async function openStore(): Promise<SessionStore> {
  const { DATABASE_URL, STORE = 'sessions.db' } = process.env
  return DATABASE_URL ? postgresStore(DATABASE_URL) : sqliteStore(STORE)
}
