import type { ConsoleSession, ConsoleWait, SessionsAnswer } from '@provost/server/console'
import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import { QueryClient as Queries, infiniteQueryOptions, queryOptions } from '@tanstack/react-query'

import { onRefused } from './connection.ts'
import type { SessionFilter } from './console-api.ts'
import { consoleApi } from './console-api.ts'
import type { FeedReader } from './feed.ts'

/**
 * What the page has read. The feed keeps it up to date, so nothing is read twice without a reason.
 *
 * Keys that begin with `['session', id]` are read again when that session changes. What cannot change, such as entries of a log, has
 * other keys.
 */
export const queries: QueryClient = new Queries({
  defaultOptions: {
    queries: { staleTime: Number.POSITIVE_INFINITY, retry: (failures, error) => failures < 2 && !isRefusal(error) },
  },
})

/** Whether the server refused a request: asking again changes nothing. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'status' in error && Number(error.status) < 500
}

/** What the principal of the page may do. */
export const accessQuery = queryOptions({
  queryKey: ['access'],
  queryFn: ({ signal }) => consoleApi.access(signal),
})

// A token expires while the page is open: the page then asks for another one.
onRefused(() => void queries.invalidateQueries({ queryKey: accessQuery.queryKey }))

const pageLimit = 100

/** Pages of the sessions that match a filter, the last changed first. */
export const sessionsQuery = (filter: SessionFilter) =>
  infiniteQueryOptions({
    queryKey: ['sessions', filter] as const,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      consoleApi.sessions({ ...filter, limit: pageLimit, before: pageParam || undefined }, signal),
    getNextPageParam: ({ next }) => next,
  })

/** The row of one session; null if the server has none with this id. */
export const sessionQuery = (id: string) =>
  queryOptions({
    queryKey: ['row', id] as const,
    queryFn: async ({ signal }): Promise<ConsoleSession | null> => {
      const { sessions } = await consoleApi.sessions({ q: id, limit: 10 }, signal)
      return sessions.find((one) => one.id === id) ?? null
    },
  })

/** Rows of the inbox that the page holds. */
const mostWaits = 500

/** The open waits of all sessions, oldest first. */
export const waitsQuery = queryOptions({
  queryKey: ['waits'],
  queryFn: async ({ signal }) => {
    const waits: ConsoleWait[] = []
    let after: string | undefined
    do {
      const page = await consoleApi.waits({ limit: 100, after }, signal)
      waits.push(...page.waits)
      after = page.next
    } while (after !== undefined && waits.length < mostWaits)
    return waits
  },
})

/**
 * Releases a session from quarantine. No entry says so, and the feed tells of entries: what the page has read is read again.
 *
 * @returns false for a session that was not in quarantine any more
 */
export async function releaseSession(id: string): Promise<boolean> {
  const { released } = await consoleApi.release(id)
  await queries.invalidateQueries()
  return released
}

type Pages = InfiniteData<SessionsAnswer, string>

/** Returns a reader of the feed that keeps what the page has read. */
export function feedInto(client: QueryClient): FeedReader {
  return {
    changed(session) {
      for (const [key, pages] of client.getQueriesData<Pages>({ queryKey: ['sessions'] })) {
        if (pages) client.setQueryData<Pages>(key, patched(pages, session, isWhole(key[1])))
      }
      client.setQueryData(sessionQuery(session.id).queryKey, session)
      void client.invalidateQueries({ queryKey: ['session', session.id] }, { cancelRefetch: false })
      const shown = client.getQueryData(waitsQuery.queryKey) ?? []
      const known = shown
        .filter(({ kind, sessionId }) => kind !== 'change' && sessionId === session.id)
        .map(({ id }) => id)
      const mayEnd = shown.some(({ kind, sessionId }) => kind === 'change' && sessionId === session.id)
      if (mayEnd || known.toSorted().join('\n') !== session.waits.toSorted().join('\n')) {
        void client.invalidateQueries({ queryKey: waitsQuery.queryKey })
      }
    },
    missed: () => void client.invalidateQueries(),
  }
}

function isWhole(filter: unknown): boolean {
  return Object.values(filter ?? {}).every((value) => value === undefined || value === '')
}

/** Puts a session that changed at the top. A filtered list keeps its rows: the filter is the server's. */
function patched(pages: Pages, session: ConsoleSession, whole: boolean): Pages {
  const isSame = ({ id }: ConsoleSession): boolean => id === session.id
  // Pages without the session stay the same objects, so that they are not compared row by row.
  const rest = pages.pages.map((page) => {
    if (!page.sessions.some(isSame)) return page
    return { ...page, sessions: page.sessions.flatMap((one) => (!isSame(one) ? one : whole ? [] : session)) }
  })
  const [first, ...others] = rest
  if (!first || !whole) return { ...pages, pages: rest }
  return { ...pages, pages: [{ ...first, sessions: [session, ...first.sessions] }, ...others] }
}
