import type { Entry, NewEntry, SessionInfo, SessionStatus } from '@provost/core'
import { assertNever } from '@provost/core'

import { createdIn, isCreated } from './created-entry.ts'

type RunEntry = Extract<NewEntry, { type: 'run' }>

/** What entries change in the row that a store's list has of their log. */
export interface RunChange {
  /** From the first start of a run among them, or the word that a session was created: whose log it is. Counts only where none stood in the log before. */
  readonly started: LogOrigin | undefined
  /** After the last of them; of a session that had no run, `idle`. */
  readonly status: SessionStatus
}

/** What the first run of a log says of it, or whoever created it. */
export interface LogOrigin {
  readonly agent: string
  readonly principal?: string
  /** Of a child run: the log is part of another session, and no session itself. */
  readonly child: boolean
}

/** @returns undefined where no entry is about a run or the session itself: nothing changes. */
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
 * What a store's list says of a session, from its main log.
 *
 * @returns undefined for a log that no root run has started, and that was not created as a session.
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

/** The status that a store wrote. */
export function statusOf(text: unknown): SessionStatus {
  return known.find((status) => status === text) ?? 'idle'
}

const known = ['running', 'suspended', 'failed', 'closed', 'quarantined'] as const satisfies readonly SessionStatus[]
