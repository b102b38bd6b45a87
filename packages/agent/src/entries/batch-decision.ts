import type { ApprovalDecision, BatchDecision, Decisions } from '@provost/core'

import type { SessionState } from '../types/session-state.ts'

/** Why a row that the approver struck is denied. */
const struck = 'struck'

/** Returns the decision of a batch on each of its open rows. */
export function rowDecisions(batch: BatchDecision, rows: readonly string[]): readonly ApprovalDecision[] {
  const { id: _, except = [], edits = {}, propose, ...shared } = batch
  return rows.map((id) => {
    if (except.includes(id)) return { ...shared, id, decision: 'deny', reason: struck }
    return Object.hasOwn(edits, id)
      ? { ...shared, id, args: edits[id], ...(propose && { propose }) }
      : { ...shared, id }
  })
}

/**
 * Replaces decisions on batches with decisions on their open rows. A row with a decision of its own keeps it. Batches
 * without an open row remain.
 */
export function expandBatches(state: SessionState, decisions: Decisions): Decisions {
  const { batches = [], ...rest } = decisions
  if (batches.length === 0) return decisions
  const approvals = [...(rest.approvals ?? [])]
  const decided = new Set(approvals.map(({ id }) => id))
  const over = batches.filter((batch) => {
    const open = [...state.waits.values()].filter((wait) => wait.batch === batch.id).map(({ token }) => token)
    const rows = open.filter((token) => !decided.has(token))
    approvals.push(...rowDecisions(batch, rows))
    for (const row of rows) decided.add(row)
    return open.length === 0
  })
  return { ...rest, approvals, batches: over }
}

/**
 * Returns the id of a decision on a batch that the log does not have: of the batch, or of a row that it strikes or edits.
 * A wrong id must not approve the row that was meant.
 */
export function unknownRow({ waits, resolvedWaits }: SessionState, decision: BatchDecision): string | undefined {
  const { id, except = [], edits = {} } = decision
  if (!resolvedWaits.has(id) && ![...waits.values()].some(({ batch }) => batch === id)) return id
  return [...except, ...Object.keys(edits)].find((row) => waits.get(row)?.batch !== id && !resolvedWaits.has(row))
}
