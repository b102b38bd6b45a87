import type { ConsoleSession, IndexAnswer, IndexRow } from '@provost/server/console'
import { queryOptions } from '@tanstack/react-query'

import { consoleApi } from '../wire/console-api.ts'

/** What the tour shows, in its order. */
const sights = ['stopped', 'asked', 'resumed', 'fan-out', 'script', 'fork'] as const
export type Sight = (typeof sights)[number]

/** Where a sight is: the entry of a log. */
export interface Mark {
  readonly session: ConsoleSession
  readonly log: string
  readonly offset: number
  readonly callId: string | null
}

/** Sessions and entries in which the tour looks. */
const mostSessions = 20
const mostRows = 2_000

/** Finds each sight in the last sessions, the last first, until it has all. A session is read again when it changes. */
export const marksQuery = (sessions: readonly ConsoleSession[]) => {
  const looked = sessions.slice(0, mostSessions)
  return queryOptions({
    queryKey: ['tour', looked.map(({ id, updatedAt }) => [id, updatedAt])] as const,
    queryFn: async ({ client, signal }): Promise<ReadonlyMap<Sight, Mark>> => {
      const marks = new Map<Sight, Mark>()
      const tell = (sight: Sight, mark: Mark): void => void (marks.has(sight) || marks.set(sight, mark))
      for (const session of looked) {
        if (marks.size === sights.length) break
        const seen = await client.fetchQuery({
          queryKey: ['tour', session.id, session.updatedAt] as const,
          queryFn: async () => sightsIn(await consoleApi.index(session.id, { limit: mostRows }, signal)),
          staleTime: Number.POSITIVE_INFINITY,
        })
        for (const [sight, { log = session.id, ...place }] of seen) tell(sight, { session, log, ...place })
        if (session.forkedFrom !== undefined) tell('fork', { session, log: session.id, offset: 1, callId: null })
      }
      return marks
    },
    placeholderData: (before) => before,
  })
}

type Seen = readonly [
  Sight,
  { readonly log: string | undefined; readonly offset: number; readonly callId: string | null },
]

function sightsIn({ logs, rows }: IndexAnswer): readonly Seen[] {
  const children = new Set<string>()
  return rows.flatMap((row) => {
    const sight = sightOf(row, children)
    const [no, , offset, , , , , , callId] = row
    return sight === undefined ? [] : [[sight, { log: logs[no]?.log, offset, callId }] as const]
  })
}

/** @param children the first child of each group that was seen before. */
function sightOf(row: IndexRow, children: Set<string>): Sight | undefined {
  const [log, , , , type, op, , , callId, , , , , , , detail] = row
  if (type === 'audit' && op === 'blocked') return 'stopped'
  if (type === 'wait' && op === 'approval') return 'asked'
  if (type === 'run' && op === 'resumed') return 'resumed'
  if (type === 'message' && detail?.calls?.some(({ toolName }) => toolName === 'code_execute')) return 'script'
  // The children of a fan-out are named after it: `…/fan-out.NAME`.
  const [, group] = (type === 'child' && op === 'spawned' && /^(.*)\.[^./]*$/u.exec(callId ?? '')) || []
  if (group === undefined) return undefined
  const key = `${log} ${group}`
  if (children.has(key)) return 'fan-out'
  children.add(key)
  return undefined
}
