import type { ConsoleSession, IndexAnswer, IndexRow } from '@provost/server/console'
import { queryOptions } from '@tanstack/react-query'

import { consoleApi } from '../wire/console-api.ts'

/** What the tour shows, in its order. */
export type Sight = 'stopped' | 'asked' | 'resumed' | 'fan-out' | 'script' | 'fork'

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

/** Finds each sight in the last sessions. It is read again when a session changes. */
export const marksQuery = (sessions: readonly ConsoleSession[]) => {
  const looked = sessions.slice(0, mostSessions)
  return queryOptions({
    queryKey: ['tour', looked.map(({ id, updatedAt }) => [id, updatedAt])] as const,
    queryFn: async ({ signal }): Promise<ReadonlyMap<Sight, Mark>> => {
      const marks = new Map<Sight, Mark>()
      const tell = (sight: Sight, mark: Mark): void => void (marks.has(sight) || marks.set(sight, mark))
      for (const session of looked) {
        const index = await consoleApi.index(session.id, { limit: mostRows }, signal)
        for (const [sight, row] of sightsIn(index)) {
          const [no, , offset, , , , , , callId] = row
          tell(sight, { session, log: index.logs[no]?.log ?? session.id, offset, callId })
        }
        if (session.forkedFrom !== undefined) tell('fork', { session, log: session.id, offset: 1, callId: null })
      }
      return marks
    },
    placeholderData: (before) => before,
  })
}

function sightsIn({ rows }: IndexAnswer): readonly (readonly [Sight, IndexRow])[] {
  const children = new Set<string>()
  return rows.flatMap((row): readonly (readonly [Sight, IndexRow])[] => {
    const [log, , , , type, op, , , callId, , , , , , , detail] = row
    if (type === 'audit' && op === 'blocked') return [['stopped', row]]
    if (type === 'wait' && op === 'approval') return [['asked', row]]
    if (type === 'run' && op === 'resumed') return [['resumed', row]]
    if (type === 'message' && detail?.calls?.some(({ toolName }) => toolName === 'code_execute'))
      return [['script', row]]
    if (type !== 'child' || op !== 'spawned') return []
    // The children of a fan-out are named after it: `…/fan-out.NAME`.
    const [, group] = /^(.*)\.[^./]*$/u.exec(callId ?? '') ?? []
    if (group === undefined) return []
    const key = `${log} ${group}`
    if (children.has(key)) return [['fan-out', row]]
    children.add(key)
    return []
  })
}
