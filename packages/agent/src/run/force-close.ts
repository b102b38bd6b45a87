import type { NewEntry } from '@provost/core'

import { closeChildren } from '../children/close-children.ts'
import { appendAborting } from '../children/part-session.ts'
import { sourceOf } from '../control/failure-source.ts'
import { parkedEntry } from '../entries/call-entries.ts'
import { openCallEntries, openWaitEntries } from '../entries/closing-entries.ts'
import { closingMessage, endedEntry, suspendedEntry, yieldedEntry } from '../entries/run-entries.ts'
import { hookContexts } from '../hooks/hook-context.ts'
import { abortsLeft } from '../inbox/abort-delivery.ts'
import { asError } from '../result/run-error.ts'
import { brokenResult } from '../result/run-result.ts'
import { placeOf } from '../state/entry.ts'
import { nextAction } from '../state/next-action.ts'
import { isHeld } from '../tree/held-calls.ts'
import type { EntryContext, LogWriter } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import type { RunEnding } from '../types/run-ending.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import { endHooks, endRun, runEndHooks } from './end-run.ts'

/**
 * Ends a run that an error or an abort stopped. Every call gets a result, the messages stay, and pending work can no
 * longer write. The history is well formed at any time. A run that this driver never claimed stays unchanged.
 *
 * The `run.end` hooks run even if the end cannot be recorded, and those of the initialised extensions if an `init` fails.
 */
export async function forceCloseRun(ctx: RunContext, ending: RunEnding): Promise<void> {
  const key = ctx.logWriter.seal()
  const closing = closingContext(ctx, key)
  const unrecorded = (hooks: ReturnType<typeof endHooks>): Promise<void> => unrecordedEnd(closing, ending, hooks)
  let last: Parameters<typeof endRun>[1]
  try {
    last = await closingEntries(ctx, ending, key)
  } catch (thrown) {
    if (ctx.ownershipEntries) await unrecorded(endHooks(closing))
    throw thrown
  }
  if (last.length > 0) await endRun(closing, last)
  else if (!ctx.ownershipEntries && sourceOf(ending)?.kind === 'extension') {
    const { initialised } = ctx.entryAgent
    await unrecorded(endHooks(closing).filter(({ extension: { init } }) => init && initialised.has(init)))
  }
}

/** Stops a run without an end in its log: it goes on later, or elsewhere. Its `run.end` hooks run here too. */
export async function leaveRun(ctx: RunContext, ending: RunEnding): Promise<void> {
  const closing = closingContext(ctx, ctx.logWriter.seal())
  if (ctx.ownershipEntries) await unrecordedEnd(closing, ending, endHooks(closing))
}

/** Returns the context of a run that ends: its `run.end` hooks may write and emit, as at a regular end. */
function closingContext(ctx: RunContext, key: ReturnType<LogWriter['seal']>): RunContext {
  const closing: RunContext = Object.create(ctx, {
    logWriter: { value: { ...ctx.logWriter, ...key } },
    contextFor: { value: hookContexts(() => closing) },
  })
  return closing
}

function unrecordedEnd(closing: RunContext, ending: RunEnding, hooks: ReturnType<typeof endHooks>): Promise<void> {
  const { entryAgent, state, sessionId, id: runId } = closing
  const error = ending.status === 'aborted' ? undefined : asError(ending)
  return runEndHooks(closing, brokenResult(entryAgent, state, { sessionId, runId }, error), hooks)
}

/** Writes the entries that close a run except the last one, which it returns; empty if there is nothing to close. */
async function closingEntries(
  ctx: RunContext,
  ending: RunEnding,
  { append, begin, settled, catchUp }: ReturnType<LogWriter['seal']>,
): Promise<Parameters<typeof endRun>[1]> {
  const { state, agent } = ctx
  // Appends in flight may change the state of the run, so they finish first.
  await settled
  const paused = state.run?.status === 'suspended'
  await catchUp()
  const { resumeOffset } = ctx
  if (resumeOffset !== undefined && state.offset > resumeOffset) ctx.ownershipEntries ??= []
  // The run was aborted as it was resumed. The inbox holds the abort no longer.
  if (ending.status === 'aborted' && state.run?.id === ctx.id && abortsLeft(state).length > 0)
    ctx.ownershipEntries ??= []
  if (!ctx.ownershipEntries) return []
  if (ctx.ownershipEntries.length > 0 && state.run?.id !== ctx.id) await begin(ctx.ownershipEntries)
  ctx.ownershipEntries = []
  if (!state.run || (state.run.status !== 'running' && state.run.status !== 'suspended')) return []
  // The store reported a failure, but had stored the suspension.
  if (state.run.status === 'suspended' && !paused) return []
  if (ending.status === 'yielded') return [yieldedEntry(state)]
  const held = [...state.run.calls.values()].filter((call) => isHeld(state, ctx.tree, call))
  // A call that only waits for the others of its step is no question.
  const waiting = held.some(({ stage }) => stage !== 'deferred') || nextAction(state) === 'wait'
  if (ending.status === 'aborted' && ctx.control.pendingPolicy === 'hold' && waiting) {
    await appendAborting(ctx, [...(await restEntries(ctx, held)), ...parkedEntries(state, held)], append)
    return [suspendedEntry(state)]
  }
  const failed = ending.status === 'failed' || (waiting && ctx.control.pendingPolicy === 'fail')
  const info = ending.info ?? (failed ? abortedWhilePending : undefined)
  const place: EntryContext = { ...placeOf(state), step: Math.max(ctx.step, state.run.step) }
  const entries = [
    ...(ctx.pendingAttempt ? [ctx.pendingAttempt()] : []),
    ...(await closeChildren(ctx, state)),
    ...openCallEntries(state),
    ...openWaitEntries(state),
    closingMessage(place, failed ? 'error' : 'aborted', ctx.partialMessage, info),
  ]
  await appendAborting(ctx, entries, append)
  const status = failed ? 'failed' : 'aborted'
  return [endedEntry(state, agent, status, info, place, failed ? sourceOf(ending) : undefined)]
}

/** Returns the entries that end all calls but those that are held. */
async function restEntries(ctx: RunContext, held: readonly CallState[]): Promise<readonly NewEntry[]> {
  const entries: NewEntry[] = []
  for (const call of ctx.state.run?.calls.values() ?? [])
    if (call.stage === 'started' && !held.includes(call)) entries.push(...(await closeChildren(ctx, ctx.state, call)))
  return [...entries, ...openCallEntries(ctx.state, held)]
}

/**
 * Returns the entries that park composites. One whose wait is only in the log of a child, or that may not have created the
 * session of a child elsewhere, is entered again instead.
 */
function parkedEntries(state: SessionState, held: readonly CallState[]): readonly NewEntry[] {
  const parks = ({ stage, part }: CallState): boolean =>
    stage === 'started' &&
    [...state.waits.keys()].some((token) => token.startsWith(`${part.callId}/`)) &&
    [...(state.run?.children.values() ?? [])].every(
      (child) => child.where !== 'any' || child.isCreated || !child.callId.startsWith(`${part.callId}/`),
    )
  return held.filter(parks).map((call) => parkedEntry(state, call))
}

const abortedWhilePending = {
  code: 'aborted-while-pending',
  message: 'The run was aborted while a call waited for a human.',
  hint: "Abort with onPendingApprovals: 'hold' to keep the question open.",
}
