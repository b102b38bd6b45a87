import type { ApprovalDecision, Clock, Decisions, EntryOf, PendingApproval } from '@provost/core'
import { isPromise } from '@provost/core'

import { report } from '../control/report.ts'
import { checkDecisions } from '../definition/known-options.ts'
import { rowDecisions, unknownRow } from '../entries/batch-decision.ts'
import { answerWaits, deliveredDecisions, dueDecisions, unknownWait } from '../entries/decision-entries.ts'
import { expiredEntry, letterEntries } from '../entries/wait-entries.ts'
import { isAwaited } from '../messages/child-message.ts'
import { waitExpired } from '../result/session-error.ts'
import { expiredWaits, nextDeadline, timerMs } from '../state/wait-deadlines.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'

/**
 * Returns the decisions on the open waits of a run. Delivered decisions come first, then expired deadlines, then `onApproval`.
 *
 * @returns `suspend` where none of them decides.
 * @throws RunEnding when the run is aborted and does not hold its pending approvals.
 */
export async function decisionsOn(
  ctx: RunContext,
  approvals: readonly PendingApproval[],
): Promise<Decisions | 'suspend'> {
  const { inbox, pendingInputs, options, state } = ctx
  // Read the inbox before the run suspends or expires a wait: a decision may just have arrived.
  if (inbox.isShared && (!hasDue(ctx) || expiredWaits(state).length > 0)) {
    await inbox.arriving()
    await inbox.sync()
  }
  const letters = letterEntries(state, inbox.answers)
  if (letters.length > 0) {
    await ctx.logWriter.append(letters)
    return {}
  }
  const delivered = deliveredDecisions(state, inbox.answers)
  if (delivered) return delivered
  const over = expiredWaits(state)
  if (over.length > 0) return giveUp(ctx, over)
  const due = dueNow(ctx)
  if (due) return due
  if (ctx.signal.aborted || pendingInputs.draining) {
    if (ctx.control.pendingPolicy === 'hold') return 'suspend'
    throw new RunEnding('aborted')
  }
  const decided: ApprovalDecision[] = []
  let again = false
  for (const rows of questionsIn(options, approvals)) {
    const decisions = await askInProcess(ctx, rows)
    if (decisions === 'look-again') {
      again = true
      break
    }
    decided.push(...decisions)
  }
  if (decided.length > 0) return { approvals: decided }
  if (again) return {}
  const meanwhile = dueNow(ctx)
  if (meanwhile) return meanwhile
  const ending = pendingInputs.draining || ctx.signal.aborted
  if (ending && ctx.control.pendingPolicy !== 'hold') throw new RunEnding('aborted')
  return 'suspend'
}

/** Expires waits: calls that wait for approval are denied, calls that wait for a result end with a timeout. */
async function giveUp(ctx: RunContext, over: readonly EntryOf<'wait'>[]): Promise<Decisions> {
  const { state, logWriter, inbox } = ctx
  for (const wait of over) {
    if (!answered(ctx, wait)) continue
    inbox.answers.delete(wait.token)
    report(ctx, waitExpired([wait.token]), { kind: 'listener', name: 'inbox' })
  }
  const unanswered = over.filter(({ kind }) => kind !== 'approval')
  if (unanswered.length > 0) await logWriter.append(unanswered.map((wait) => expiredEntry(state, wait)))
  return { approvals: over.filter(({ kind }) => kind === 'approval').map(({ token }) => overdue(token)) }
}

function answered({ inbox, pendingInputs }: RunContext, { token, callId, batch }: EntryOf<'wait'>): boolean {
  if (inbox.answers.has(token)) return true
  return pendingInputs.decisions.some(
    ({ approvals, batches, toolResults }) =>
      approvals?.some(({ id }) => id === token) ||
      batches?.some(({ id }) => id === batch) ||
      toolResults?.some((result) => result.callId === callId),
  )
}

/** Whether a decision on an open wait has arrived. */
function hasDue({ inbox, state, pendingInputs }: RunContext): boolean {
  for (const token of inbox.answers.keys()) if (isAwaited(state, token)) return true
  return pendingInputs.decisions.some((decisions) => dueDecisions(state, decisions).due !== undefined)
}

/** Returns the decisions on open waits that have arrived. They are answers until the log has them. */
function dueNow({ inbox, state, pendingInputs }: RunContext): Decisions | undefined {
  answerWaits(state, pendingInputs.decisions, inbox.answers)
  return deliveredDecisions(state, inbox.answers)
}

function isOver(clock: Clock, { expiresAt = Number.POSITIVE_INFINITY }: PendingApproval): boolean {
  return expiresAt <= clock.now()
}

function overdue(id: string): ApprovalDecision {
  return { id, decision: 'deny', by: 'deadline', reason: 'The approval request timed out.' }
}

/** Returns the questions for functions of this process, in order. A batch is one question if `onBatch` answers it. */
function questionsIn(
  { onApproval, onBatch }: RunContext['options'],
  approvals: readonly PendingApproval[],
): readonly (readonly PendingApproval[])[] {
  const asked = approvals.filter(({ batch }) => (onBatch && batch !== undefined) || onApproval)
  return [...Map.groupBy(asked, ({ id, batch }) => (onBatch && batch) ?? id).values()]
}

/** Asks `onBatch` about the rows of a batch, or `onApproval` about one approval. */
async function askInProcess(
  ctx: RunContext,
  rows: readonly PendingApproval[],
): Promise<readonly ApprovalDecision[] | 'look-again'> {
  const { openQuestions, state } = ctx
  const { onApproval, onBatch } = ctx.options
  const [first] = rows
  if (!first) return []
  const batch = onBatch && first.batch
  const id = batch ?? first.id
  const by = batch === undefined ? 'onApproval' : 'onBatch'
  try {
    const answer = openQuestions.get(id) ?? (batch === undefined ? onApproval?.(first) : onBatch?.(rows))
    if (isPromise(answer)) openQuestions.set(id, answer)
    const said = isPromise(answer) ? await inTime(ctx, answer) : answer
    const over = rows.filter((row) => isOver(state.clock, row)).map((row) => overdue(row.id))
    if (said === 'look-again') return over.length > 0 ? over : said
    openQuestions.delete(id)
    if (said === undefined) return over
    const decision = { by, ...(typeof said === 'string' ? { decision: said } : said), id }
    if (batch === undefined) return over.length > 0 ? over : [decision]
    // Its rows stay pending where it names a row that this batch does not have.
    checkDecisions({ batches: [decision] }, by)
    const open = rows.filter((row) => !isOver(state.clock, row)).map((row) => row.id)
    const unknown = unknownRow(state, decision)
    if (unknown !== undefined) throw unknownWait(unknown)
    return [...over, ...rowDecisions(decision, open)]
  } catch (thrown) {
    openQuestions.delete(id)
    report(ctx, thrown, { kind: 'listener', name: by })
    return []
  }
}

/**
 * Waits for an answer of `onApproval` or `onBatch`.
 *
 * @returns the answer; `look-again` when another decision arrives or a deadline passes first; undefined when the run ends.
 */
async function inTime<T>(ctx: RunContext, answer: PromiseLike<T>): Promise<T | 'look-again' | undefined> {
  const { signal, pendingInputs, state } = ctx
  const elsewhere = Promise.withResolvers<'look-again'>()
  const ended = Promise.withResolvers<undefined>()
  const look = (): void => {
    if (hasDue(ctx)) elsewhere.resolve('look-again')
  }
  const end = (): void => ended.resolve(undefined)
  const deadline = nextDeadline(state)
  const timer = Number.isFinite(deadline)
    ? state.clock.timer(() => elsewhere.resolve('look-again'), timerMs(state.clock, deadline))
    : undefined
  pendingInputs.listeners.add(look)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  look()
  try {
    return await Promise.race([
      elsewhere.promise,
      answer,
      pendingInputs.drained.promise.then(() => undefined),
      ended.promise,
    ])
  } finally {
    pendingInputs.listeners.delete(look)
    signal.removeEventListener('abort', end)
    timer?.cancel()
  }
}
