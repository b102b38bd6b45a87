import type { Entry, NewEntry, SessionInfo, SessionStatus, SessionStore } from '@provost/core'
import { assertNever } from '@provost/core'

import { createdIn, isCreated } from './created-entry.ts'

/** The filter of a store's `list`. */
export type SessionFilter = NonNullable<Parameters<SessionStore['list']>[0]>

type RunEntry = Extract<NewEntry, { type: 'run' }>

/** Changes that entries make to the row of their log in a store's list. */
export interface RunChange {
  /** Origin from the first run start or creation entry among them. It applies only where the log has no origin yet. */
  readonly started: LogOrigin | undefined
  /** Status after the last of them; `idle` for a session that has had no run. */
  readonly status: SessionStatus
  /** When the last of them has to be looked at, in milliseconds since 1970; of a run that is suspended or has ended. */
  readonly due?: number
  /** Number of the last delivery that its writer has read; absent where the entry does not say it. */
  readonly seen?: number
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
  const due = last.op === 'suspended' || last.op === 'ended' ? last.due : undefined
  const seen = last.op === 'suspended' || last.op === 'ended' ? last.seen : undefined
  return {
    started: created ?? started,
    status: statusAfter(last),
    ...(due !== undefined && { due }),
    ...(seen !== undefined && { seen: Number(seen) || 0 }),
  }
}

/** What a store keeps of a log for its list, so that `list` reads no entries. */
export interface LogSummary {
  /** Absent until the first run start or creation entry. */
  readonly origin?: LogOrigin
  readonly status: SessionStatus
  /** Time of the last entry, in milliseconds since 1970. */
  readonly updatedAt: number
}

/**
 * Returns the summary of a log after an append.
 *
 * @param summary summary before the append; undefined for an empty log.
 * @param fresh the new entries of the append, at least one.
 *
 * @example
 * if (fresh.length > 0) log.summary = summarizeAppend(log.summary, fresh)
 */
export function summarizeAppend(summary: LogSummary | undefined, fresh: readonly NewEntry[]): LogSummary {
  const change = runChange(fresh)
  const origin = summary?.origin ?? change?.started
  return {
    ...(origin && { origin }),
    status: change?.status ?? summary?.status ?? 'idle',
    updatedAt: fresh.at(-1)?.at ?? summary?.updatedAt ?? 0,
  }
}

/**
 * Returns the row of a session in a store's list, from all entries of its main log or from its summary.
 *
 * @returns undefined for a log without a root run and without a creation entry: it is not a session.
 */
export function sessionInfo(id: string, log: readonly Entry[] | LogSummary | undefined): SessionInfo | undefined {
  if (isEntries(log)) return log.length > 0 ? sessionInfo(id, summarizeAppend(undefined, log)) : undefined
  if (!log?.origin || log.origin.child) return undefined
  const { agent, principal } = log.origin
  return {
    id,
    agent,
    status: log.status,
    ...(principal !== undefined && { principal }),
    updatedAt: log.updatedAt,
  }
}

/** Array.isArray does not narrow read-only arrays. */
function isEntries(log: readonly Entry[] | LogSummary | undefined): log is readonly Entry[] {
  return Array.isArray(log)
}

/**
 * Returns the rows that match a filter, in the order of their ids, for a store without an index: it passes all rows.
 *
 * @param filter as `list` receives it; undefined for all rows.
 */
export function selectSessions(rows: Iterable<SessionInfo>, filter: SessionFilter = {}): readonly SessionInfo[] {
  const { principal, status, after, limit = Number.POSITIVE_INFINITY } = filter
  const found: SessionInfo[] = []
  for (const row of rows) {
    if (after !== undefined && row.id <= after) continue
    if (principal !== undefined && row.principal !== principal) continue
    if (status !== undefined && row.status !== status) continue
    found.push(row)
  }
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
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
