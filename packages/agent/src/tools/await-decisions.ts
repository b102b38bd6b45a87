import type { ApprovalDecision, Decisions, EntryOf, PendingApproval } from '@provost/core'
import { isPromise } from '@provost/core'

import { report } from '../control/report.ts'
import { deliveredDecisions, dueDecisions } from '../entries/decision-entries.ts'
import { expiredEntry } from '../entries/wait-entries.ts'
import { waitExpired } from '../result/session-error.ts'
import { expiredWaits, nextDeadline, timerMs } from '../state/wait-deadlines.ts'
import type { PendingInputs } from '../types/inputs.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'

/**
 * Returns the decisions on the open waits of a run. Delivered decisions come first, then expired deadlines, then `onApproval`.
 *
 * @returns `suspend` where none of them decides.
 * @throws RunEnding when the run is aborted and does not hold its pending approvals.
 */
export async function decisionsOn(
  scope: RunContext,
  approvals: readonly PendingApproval[],
): Promise<Decisions | 'suspend'> {
  const { mailbox, given, state } = scope
  // Read the inbox before the run suspends or expires a wait: a decision may just have arrived.
  if (scope.inbox && (!hasDue(scope) || expiredWaits(state).length > 0)) {
    await Promise.all(mailbox.arriving)
    await scope.inbox.sync()
  }
  const delivered = deliveredDecisions(state, mailbox.deliveries)
  if (delivered) return delivered
  const over = expiredWaits(state)
  if (over.length > 0) return giveUp(scope, over)
  const due = takeDue(scope)
  if (due) return due
  if (scope.signal.aborted || mailbox.draining) {
    if (scope.pendingPolicy() === 'hold') return 'suspend'
    throw new RunEnding('aborted')
  }
  const decided: ApprovalDecision[] = []
  let again = false
  if (given.onApproval) {
    for (const approval of approvals) {
      const decision = await askInProcess(scope, approval)
      if (decision === 'look-again') {
        again = true
        break
      }
      if (decision) decided.push(decision)
    }
  }
  if (decided.length > 0) return { approvals: decided }
  if (again) return {}
  const meanwhile = takeDue(scope)
  if (meanwhile) return meanwhile
  const ending = mailbox.draining || scope.signal.aborted
  if (ending && scope.pendingPolicy() !== 'hold') throw new RunEnding('aborted')
  return 'suspend'
}

/** Expires waits: calls that wait for approval are denied, calls that wait for a result end with a timeout. */
async function giveUp(scope: RunContext, over: readonly EntryOf<'wait'>[]): Promise<Decisions> {
  const { state, journal, mailbox } = scope
  for (const wait of over) {
    if (!answered(mailbox, wait)) continue
    mailbox.deliveries.delete(wait.token)
    report(scope, waitExpired([wait.token]), { kind: 'listener', name: 'inbox' })
  }
  const unanswered = over.filter(({ kind }) => kind !== 'approval')
  if (unanswered.length > 0) await journal.append(unanswered.map((wait) => expiredEntry(state, wait)))
  return { approvals: over.filter(({ kind }) => kind === 'approval').map(({ token }) => overdue(token)) }
}

function answered({ deliveries, decisions }: PendingInputs, { token, callId }: EntryOf<'wait'>): boolean {
  if (deliveries.has(token)) return true
  return decisions.some(
    ({ approvals, toolResults }) =>
      approvals?.some(({ id }) => id === token) || toolResults?.some((result) => result.callId === callId),
  )
}

/** Whether a decision on an open wait has arrived. */
function hasDue({ state, mailbox }: RunContext): boolean {
  for (const token of mailbox.deliveries.keys()) if (state.waits.has(token)) return true
  return mailbox.decisions.some((decisions) => dueDecisions(state, decisions).due !== undefined)
}

/** Removes and returns the first pending decisions with an open wait. Decisions that are early stay pending. */
function takeDue({ state, mailbox }: RunContext): Decisions | undefined {
  const delivered = deliveredDecisions(state, mailbox.deliveries)
  if (delivered) return delivered
  for (const [index, decisions] of mailbox.decisions.entries()) {
    const { due, early } = dueDecisions(state, decisions)
    if (!due) continue
    mailbox.decisions.splice(index, 1, ...(early ? [early] : []))
    return due
  }
  return undefined
}

function isOver({ expiresAt = Number.POSITIVE_INFINITY }: PendingApproval): boolean {
  return expiresAt <= Date.now()
}

function overdue(id: string): ApprovalDecision {
  return { id, decision: 'deny', by: 'deadline', reason: 'The approval request timed out.' }
}

async function askInProcess(
  scope: RunContext,
  approval: PendingApproval,
): Promise<ApprovalDecision | 'look-again' | undefined> {
  const { asked } = scope
  const { id } = approval
  try {
    const answer = asked.get(id) ?? scope.given.onApproval?.(approval)
    if (isPromise(answer)) asked.set(id, answer)
    const said = isPromise(answer) ? await inTime(scope, answer) : answer
    if (isOver(approval)) return overdue(id)
    if (said === 'look-again') return said
    asked.delete(id)
    if (said === undefined) return undefined
    return { by: 'onApproval', ...(typeof said === 'string' ? { decision: said } : said), id }
  } catch (thrown) {
    asked.delete(id)
    report(scope, thrown, { kind: 'listener', name: 'onApproval' })
    return undefined
  }
}

/**
 * Waits for an answer of `onApproval`.
 *
 * @returns the answer; `look-again` when another decision arrives or a deadline passes first; undefined when the run ends.
 */
async function inTime<T>(scope: RunContext, answer: PromiseLike<T>): Promise<T | 'look-again' | undefined> {
  const { signal, mailbox, state } = scope
  const elsewhere = Promise.withResolvers<'look-again'>()
  const ended = Promise.withResolvers<undefined>()
  const look = (): void => {
    if (hasDue(scope)) elsewhere.resolve('look-again')
  }
  const end = (): void => ended.resolve(undefined)
  const deadline = nextDeadline(state)
  const timer = Number.isFinite(deadline)
    ? setTimeout(() => elsewhere.resolve('look-again'), timerMs(deadline))
    : undefined
  mailbox.watchers.add(look)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  look()
  try {
    return await Promise.race([elsewhere.promise, answer, mailbox.drained.promise.then(() => undefined), ended.promise])
  } finally {
    mailbox.watchers.delete(look)
    signal.removeEventListener('abort', end)
    clearTimeout(timer)
  }
}
