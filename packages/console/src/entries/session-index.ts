import { queryOptions, useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'

import { consoleApi } from '../wire/console-api.ts'
import { queries, sessionQuery } from '../wire/queries.ts'
import type { IndexedLog, SessionIndex } from './indexed-log.ts'
import { withPage } from './indexed-log.ts'

const pageLimit = 5_000

async function readAll(id: string, signal: AbortSignal): Promise<SessionIndex> {
  let index = new Map<string, IndexedLog>()
  let after: string | undefined
  do {
    const page = await consoleApi.index(id, { after, limit: pageLimit }, signal)
    index = withPage(index, page)
    after = page.next
  } while (after !== undefined)
  return index
}

/** Reads what came since: the ends of the logs that are open, and the logs that they spawned meanwhile. Without news it returns what was. */
async function readNews(id: string, before: SessionIndex, signal: AbortSignal): Promise<SessionIndex> {
  let index = new Map(before)
  let isSame = true
  const open = openLogs(index, id)
  for (const log of open) {
    let last = index.get(log)?.entries.at(-1)?.offset ?? 0
    for (;;) {
      const page = await consoleApi.index(id, { log, after: String(last), limit: pageLimit }, signal)
      const news = page.rows.length
      if (news === 0) break
      isSame = false
      index = withPage(index, page)
      // A log that only an entry of its parent names yet.
      for (const [, , , , type, op, agent, , callId, , , , , , , detail] of page.rows) {
        const child = detail?.child
        if (type !== 'child' || op !== 'spawned' || child === undefined || index.has(child)) continue
        index.set(child, { log: child, agent, parent: log, callId: callId ?? undefined, entries: [] })
        open.add(child)
      }
      last = index.get(log)?.entries.at(-1)?.offset ?? last
      if (news < pageLimit) break
    }
  }
  return isSame ? before : index
}

function openLogs(index: SessionIndex, id: string): Set<string> {
  const open = new Set([id])
  for (const { entries } of index.values()) {
    for (const { type, op, detail } of entries) {
      if (type !== 'child' || detail.child === undefined) continue
      if (op === 'joined' && detail.outcome !== 'suspended') open.delete(detail.child)
      else open.add(detail.child)
    }
  }
  return open
}

const indexKey = (id: string) => ['session', id, 'index'] as const

/** The index of a session. When the session changes, only what came since is read. */
export const indexQuery = (id: string) =>
  queryOptions({
    queryKey: indexKey(id),
    queryFn: ({ signal }): Promise<SessionIndex> => {
      const before = queries.getQueryData<SessionIndex>(indexKey(id))
      return before ? readNews(id, before, signal) : readAll(id, signal)
    },
    structuralSharing: false,
  })

const runningMs = 1_000

/** The index of a session, live. The feed does not tell of each entry of a run, such as the calls of a script: they are asked for. */
export function useIndex(id: string): UseQueryResult<SessionIndex> {
  const { data: session } = useQuery(sessionQuery(id))
  return useQuery({ ...indexQuery(id), refetchInterval: session?.status === 'running' ? runningMs : false })
}
