import type { Entry, SessionInfo, SessionStatus } from '@provost/core'
import { assertNever } from '@provost/core'

/**
 * What a store's list says of a session, from its main log.
 *
 * @returns undefined for a log that no root run has started.
 */
export function sessionInfo(id: string, entries: readonly Entry[]): SessionInfo | undefined {
  const first = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
  const last = entries.at(-1)
  if (first?.type !== 'run' || first.op !== 'started' || first.parent || !last) return undefined
  const run = entries.findLast((entry) => entry.type === 'run')
  return {
    id,
    agent: first.manifest.agent,
    status: run?.type === 'run' ? statusAfter(run) : 'idle',
    ...(first.principal && { principal: first.principal.id }),
    updatedAt: last.at,
  }
}

function statusAfter(entry: Extract<Entry, { type: 'run' }>): SessionStatus {
  switch (entry.op) {
    case 'started':
    case 'resumed':
      return 'running'
    case 'suspended':
      return 'suspended'
    case 'ended':
      return entry.status === 'failed' ? 'failed' : 'idle'
    default:
      return assertNever(entry)
  }
}
