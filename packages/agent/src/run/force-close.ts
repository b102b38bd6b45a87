import { closeChildren } from '../children/close-children.ts'
import { openCallEntries, openWaitEntries } from '../entries/closing-entries.ts'
import { closingMessage, endedEntry, suspendedEntry } from '../entries/run-entries.ts'
import { hookContexts } from '../hooks/hook-context.ts'
import { placeOf } from '../state/entry.ts'
import { nextAction } from '../state/next-action.ts'
import { offsetOf } from '../state/session-state.ts'
import type { EntryContext } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import type { RunEnding } from '../types/run-ending.ts'
import { endRun } from './end-run.ts'

/**
 * Ends a run that an error or an abort stopped. Every call gets a result, the messages stay, and pending work can no
 * longer write. The history is well formed at any time. A run that this driver never claimed stays unchanged.
 */
export async function forceCloseRun(ctx: RunContext, ending: RunEnding): Promise<void> {
  const { state, logWriter, agent } = ctx
  const key = logWriter.seal()
  const { append, begin, settled, catchUp } = key
  // Appends in flight may change the state of the run, so they finish first.
  await settled
  const paused = state.run?.status === 'suspended'
  await catchUp()
  const { resumeOffset } = ctx
  if (resumeOffset !== undefined && offsetOf(state) > resumeOffset) ctx.ownershipEntries ??= []
  if (!ctx.ownershipEntries) return
  // The `run.end` hooks may write and emit, as at a regular end.
  const closing: RunContext = Object.create(ctx, {
    logWriter: { value: { ...logWriter, ...key } },
    contextFor: { value: hookContexts(() => closing) },
  })
  if (ctx.ownershipEntries.length > 0 && state.run?.id !== ctx.id) await begin(ctx.ownershipEntries)
  ctx.ownershipEntries = []
  if (!state.run || (state.run.status !== 'running' && state.run.status !== 'suspended')) return
  // The store reported a failure, but had stored the suspension.
  if (state.run.status === 'suspended' && !paused) return
  const waiting = nextAction(state) === 'wait'
  if (ending.status === 'aborted' && waiting && ctx.pendingPolicy() === 'hold') {
    await endRun(closing, [suspendedEntry(state)])
    return
  }
  const failed = ending.status === 'failed' || (waiting && ctx.pendingPolicy() === 'fail')
  const info = ending.info ?? (failed ? abortedWhilePending : undefined)
  const place: EntryContext = { ...placeOf(state), step: Math.max(ctx.step, state.run.step) }
  const entries = [
    ...(ctx.pendingAttempt ? [ctx.pendingAttempt()] : []),
    ...(await closeChildren(ctx, state)),
    ...openCallEntries(state),
    ...openWaitEntries(state),
    closingMessage(place, failed ? 'error' : 'aborted', ctx.partialMessage, info),
  ]
  await append(entries)
  await endRun(closing, [endedEntry(state, agent, failed ? 'failed' : 'aborted', info, place)])
}

const abortedWhilePending = {
  code: 'aborted-while-pending',
  message: 'The run was aborted while a call waited for a human.',
  hint: "Abort with onPendingApprovals: 'hold' to keep the question open.",
}
