import { compensationLog, foldLog, pendingWork } from '@provost/agent'
import type { SessionState } from '@provost/agent'
import type { Decisions, Entry, PendingWork, SessionStore } from '@provost/core'
import { ProvostError } from '@provost/core'

/** The compensations of a session, as their log records them. */
export interface CompensationWaits {
  readonly pending: PendingWork
  /** Whether a wait existed and is over. */
  isOver(id: string): boolean
}

/** Reads what the compensation of a session waits for. */
export async function compensationWaits(store: SessionStore, sessionId: string): Promise<CompensationWaits> {
  const entries: Entry[] = []
  for await (const entry of store.read(compensationLog(sessionId))) entries.push(entry)
  const state = foldLog(entries)
  return { pending: pendingWork(state), isOver: (id) => isOverIn(state, id) }
}

/** Whether a wait or a batch existed and is over. */
export function isOverIn({ resolvedWaits }: SessionState, id: string): boolean {
  return ['', 'remote ', 'uncertain '].some((prefix) => resolvedWaits.has(`${prefix}${id}`))
}

/** The decisions of a request: those of the run, and those of a compensation. */
export interface DividedDecisions {
  readonly run: Decisions | undefined
  readonly compensation: Decisions | undefined
}

/**
 * Divides decisions between the run of a session and its compensation, which has a log of its own.
 *
 * @param here what the run waits for, as this process knows it.
 * @throws ProvostError `already-decided` for a wait of a compensation that is over.
 */
export async function divideDecisions(
  store: SessionStore,
  sessionId: string,
  decisions: Decisions,
  here: PendingWork,
): Promise<DividedDecisions> {
  const ids = idsOf(decisions)
  const own = new Set(waitIdsOf(here))
  if (ids.every((id) => own.has(id))) return { run: decisions, compensation: undefined }
  const { pending, isOver } = await compensationWaits(store, sessionId)
  const waiting = new Set(waitIdsOf(pending))
  if (ids.some((id) => !waiting.has(id) && isOver(id))) throw alreadyDecided()
  const compensation = ids.filter((id) => waiting.has(id))
  if (compensation.length === 0) return { run: decisions, compensation: undefined }
  const run = ids.filter((id) => !waiting.has(id))
  return {
    run: run.length === 0 ? undefined : only(decisions, (id) => !waiting.has(id)),
    compensation: only(decisions, (id) => waiting.has(id)),
  }
}

function only(
  { approvals, batches, toolResults, uncertain, inputs }: Decisions,
  has: (id: string) => boolean,
): Decisions {
  return {
    ...(approvals && { approvals: approvals.filter(({ id }) => has(id)) }),
    ...(batches && { batches: batches.filter(({ id }) => has(id)) }),
    ...(toolResults && { toolResults: toolResults.filter(({ callId }) => has(callId)) }),
    ...(uncertain && { uncertain: uncertain.filter(({ callId }) => has(callId)) }),
    ...(inputs && { inputs: inputs.filter(({ id }) => has(id)) }),
  }
}

/** Returns the ids by which decisions name their waits. */
function idsOf({ approvals = [], batches = [], toolResults = [], uncertain = [], inputs = [] }: Decisions): string[] {
  return [
    ...[...approvals, ...batches, ...inputs].map(({ id }) => id),
    ...[...toolResults, ...uncertain].map(({ callId }) => callId),
  ]
}

function waitIdsOf({ approvals, inputs, uncertain, remoteCalls }: PendingWork): string[] {
  return [
    ...approvals.flatMap(({ id, batch }) => (batch === undefined ? [id] : [id, batch])),
    ...inputs.map(({ id }) => id),
    ...[...uncertain, ...remoteCalls].map(({ callId }) => callId),
  ]
}

function alreadyDecided(): ProvostError {
  return new ProvostError('already-decided', 'A decision on the compensation was already made; it applies.', {
    hint: 'Send POST /api/agent/session/ID/compensate to see what it waits for.',
  })
}
