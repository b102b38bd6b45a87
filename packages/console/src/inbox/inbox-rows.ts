import type { ConsoleWait } from '@provost/server/console'
import { queryOptions } from '@tanstack/react-query'
import { useMemo, useRef } from 'react'

import { consoleApi } from '../wire/console-api.ts'
import type { Outcome } from './decisions.ts'

/** Returns what names a wait in the page. Two sessions may wait for the same change. */
export function keyOf({ kind, sessionId, id }: ConsoleWait): string {
  return `${kind}:${sessionId}:${id}`
}

/** The waits of the inbox: the open ones, the riskiest first, and those that ended while the page was open. */
interface InboxRows {
  readonly open: readonly ConsoleWait[]
  readonly ended: readonly ConsoleWait[]
}

export function useInboxRows(waits: readonly ConsoleWait[] | undefined): InboxRows {
  const seen = useRef(new Map<string, ConsoleWait>())
  return useMemo(() => {
    const open = (waits ?? []).toSorted((a, b) => riskOf(a) - riskOf(b) || a.at - b.at)
    const keys = new Set(open.map(keyOf))
    for (const wait of open) seen.current.set(keyOf(wait), wait)
    const ended = waits ? [...seen.current.values()].filter((wait) => !keys.has(keyOf(wait))).slice(-mostEnded) : []
    return { open, ended: ended.toReversed() }
  }, [waits])
}

/** Decisions that stay in the list. */
const mostEnded = 10

const kinds: readonly ConsoleWait['kind'][] = ['approval', 'uncertain', 'quarantined', 'change', 'input', 'remote']

/** Calls that a rule asked about come before those of tools that always ask. */
function riskOf({ kind, rule }: ConsoleWait): number {
  return kinds.indexOf(kind) * 2 + (rule === undefined ? 1 : 0)
}

const words: Readonly<Record<string, string>> = { approve: 'Approved', deny: 'Denied' }

/** Reads from the log how a wait ended, where another page or program decided it. */
export const outcomeQuery = (wait: ConsoleWait) =>
  queryOptions({
    queryKey: ['outcome', keyOf(wait)] as const,
    queryFn: async ({ signal }): Promise<Outcome> => {
      const { sessionId, log, offset } = wait
      const { rows } = await consoleApi.index(sessionId, { log, after: String(offset), limit: 1_000 }, signal)
      const detail = rows.map((row) => row[15]).find((one) => one?.token === wait.id)
      const decision = detail?.decision ?? detail?.outcome
      return { text: words[decision ?? ''] ?? decision ?? 'No longer open', by: detail?.by }
    },
  })
