import type { Entry, NewEntry, SessionInfo, SessionStatus } from '@provost/core'
import { assertNever } from '@provost/core'

import { createdIn, isCreated } from './created-entry.ts'

type RunEntry = Extract<NewEntry, { type: 'run' }>

/** Changes that entries make to the row of their log in a store's list. */
export interface RunChange {
  /** Origin from the first run start or creation entry among them. It applies only where the log has no origin yet. */
  readonly started: LogOrigin | undefined
  /** Status after the last of them; `idle` for a session that has had no run. */
  readonly status: SessionStatus
}

/** The origin of a log, from its first run or its creation entry. */
export interface LogOrigin {
  readonly agent: string
  readonly principal?: string
  /** Whether the log belongs to a child run: it is part of another session. */
  readonly child: boolean
}

/** Returns the changes of entries; undefined where none is about a run or the session itself. */
export function runChange(entries: readonly NewEntry[]): RunChange | undefined {
  let started: LogOrigin | undefined
  let created: LogOrigin | undefined
  let last: RunEntry | undefined
  for (const entry of entries) {
    if (isCreated(entry)) {
      const { agent, principal } = createdIn(entry)
      created ??= { agent, ...(principal && { principal: principal.id }), child: false }
    }
    if (entry.type !== 'run') continue
    last = entry
    if (entry.op === 'started') started ??= originOf(entry)
  }
  if (!last) return created && { started: created, status: 'idle' }
  return { started: created ?? started, status: statusAfter(last) }
}

/**
 * Returns the row of a session in a store's list, from its main log.
 *
 * @returns undefined for a log without a root run and without a creation entry.
 */
export function sessionInfo(id: string, entries: readonly Entry[]): SessionInfo | undefined {
  const change = runChange(entries)
  const last = entries.at(-1)
  if (!change?.started || change.started.child || !last) return undefined
  const { agent, principal } = change.started
  return {
    id,
    agent,
    status: change.status,
    ...(principal !== undefined && { principal }),
    updatedAt: last.at,
  }
}

function originOf({ manifest, principal, parent }: Extract<RunEntry, { op: 'started' }>): LogOrigin {
  return { agent: manifest.agent, ...(principal && { principal: principal.id }), child: parent !== undefined }
}

function statusAfter(entry: RunEntry): SessionStatus {
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

/** Parses a stored status. */
export function statusOf(text: unknown): SessionStatus {
  return known.find((status) => status === text) ?? 'idle'
}

const known = ['running', 'suspended', 'failed', 'closed', 'quarantined'] as const satisfies readonly SessionStatus[]
