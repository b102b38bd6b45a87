import type { RunChange, SessionSummary } from '@provost/core'
import { changeText, displayText } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import type { ConsoleChange, ConsoleWait } from '../console-answers/console-answer.ts'
import { shownChange } from '../sessions/held-change.ts'
import { foldSession } from '../sessions/session-end.ts'
import type { ConsoleStore } from './console-store.ts'

/** Sessions of each status that the inbox looks at for changes, the last updated first. */
const mostLooked = 100
/** Answers that are kept. */
const mostKept = 1_000

/** Finds the runs that wait until a change of their agent is accepted. */
export interface ConsoleChanges {
  /** Returns a row for each of them that `sees` permits. */
  rows(sees: (summary: SessionSummary, change: RunChange) => Promise<boolean>): Promise<ConsoleWait[]>
}

/**
 * The code of this process does not change, so the answer about a session holds until its log grows: each state of a session is
 * read once.
 */
export function consoleChanges(
  setup: Pick<OperationSetup, 'host' | 'report'>,
  { store, summaries }: ConsoleStore,
): ConsoleChanges {
  const known = new Map<string, { readonly offset: number; readonly change: RunChange | undefined }>()

  async function changeIn({ id, agent, offset, status }: SessionSummary): Promise<RunChange | undefined> {
    const before = known.get(id)
    if (before?.offset === offset) return before.change
    const { state } = await foldSession(store, id)
    const found = await shownChange(setup, { id, agent }, state)
    const change = found?.rule === 'ask' ? found : undefined
    known.delete(id)
    // Whether another process still runs it with the earlier code changes without an entry.
    if (status === 'suspended') known.set(id, { offset, change })
    const [oldest] = known.keys()
    if (known.size > mostKept && oldest !== undefined) known.delete(oldest)
    return change
  }

  return {
    async rows(sees) {
      const rows: ConsoleWait[] = []
      for (const status of ['suspended', 'running'] as const) {
        for (const summary of await summaries.list({ status, limit: mostLooked })) {
          if (!setup.host.agentNamed(summary.agent)) continue
          const change = await changeIn(summary)
          if (!change || !(await sees(summary, change))) continue
          const { id, title, agent, principal, updatedAt: at, offset } = summary
          rows.push({
            ...{ kind: 'change', id: change.id, sessionId: id, title, agent, at, log: id, offset },
            ...(principal !== undefined && { requester: principal }),
            text: displayText(changeText(change), { limit: 2_000 }),
            change: shown(change),
          })
        }
      }
      return rows
    },
  }
}

function shown({ id, agent, from, to, instructions, tools }: RunChange): ConsoleChange {
  const versions = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  return { id, agent, ...versions, instructions, tools: [...tools] }
}
