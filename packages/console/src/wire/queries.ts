import type { SessionRow } from '@provost/client'
import type { QueryClient } from '@tanstack/react-query'
import { QueryClient as Queries, queryOptions } from '@tanstack/react-query'

import { client } from './connection.ts'

/** What the page has read. */
export const queries: QueryClient = new Queries({
  defaultOptions: { queries: { retry: (failures, error) => failures < 2 && !isRefusal(error) } },
})

/** Whether the server refused a request: asking again changes nothing. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'status' in error && Number(error.status) < 500
}

const lookMs = 2_000
const pageLimit = 500
/** Sessions that a list holds. */
export const mostSessions = 5_000

/** Your sessions, the last changed first. The page looks again every two seconds while it is shown. */
export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  refetchInterval: lookMs,
  queryFn: async (): Promise<readonly SessionRow[]> => {
    const sessions: SessionRow[] = []
    let after: string | undefined
    do {
      const page = await client.sessions({ limit: pageLimit, ...(after !== undefined && { after }) })
      sessions.push(...page.sessions)
      after = page.next
    } while (after !== undefined && sessions.length < mostSessions)
    return sessions.toSorted((a, b) => b.updatedAt - a.updatedAt)
  },
})
