import { closeChildren } from './close-children.ts'
import { endRun } from './end-run.ts'
import { placeOf } from './entry.ts'
import type { Place } from './entry.ts'
import { hookContexts } from './hook-context.ts'
import { offsetOf } from './log-state.ts'
import { openCallEntries, openWaitEntries } from './open-entries.ts'
import { next } from './position.ts'
import { closingMessage, endedEntry, suspendedEntry } from './run-entries.ts'
import type { RunEnding, RunScope } from './run-scope.ts'

/**
 * Ends a run that did not come to its end by itself: every call gets a result, what was said stays, and nothing that is
 * still under way can write any more. The history is well formed whenever this happens. A run that this driver never
 * took over is not touched.
 */
export async function closeRun(scope: RunScope, ending: RunEnding): Promise<void> {
  const { state, journal, plan } = scope
  const key = journal.seal()
  const { append, begin, quiet, catchUp } = key
  // What was being written may change where the run stands; its end has to fit.
  await quiet
  const paused = state.run?.status === 'suspended'
  await catchUp()
  const { resumedFrom } = scope
  if (resumedFrom !== undefined && offsetOf(state) > resumedFrom) scope.claim ??= []
  if (!scope.claim) return
  // The hooks that see the end may write and emit, as they may where a run ends by itself.
  const closing: RunScope = Object.create(scope, {
    journal: { value: { ...journal, ...key } },
    contextFor: { value: hookContexts(() => closing) },
  })
  if (scope.claim.length > 0 && state.run?.id !== scope.id) await begin(scope.claim)
  scope.claim = []
  if (!state.run || (state.run.status !== 'running' && state.run.status !== 'suspended')) return
  // Its own end was stored after all, though the store said otherwise.
  if (state.run.status === 'suspended' && !paused) return
  const waiting = next(state) === 'wait'
  if (ending.status === 'aborted' && waiting && scope.pendingPolicy() === 'hold') {
    await endRun(closing, [suspendedEntry(state)])
    return
  }
  const failed = ending.status === 'failed' || (waiting && scope.pendingPolicy() === 'fail')
  const info = ending.info ?? (failed ? abortedWhilePending : undefined)
  const place: Place = { ...placeOf(state), step: Math.max(scope.step, state.run.step) }
  const entries = [
    ...(scope.spent ? [scope.spent()] : []),
    ...(await closeChildren(scope, state)),
    ...openCallEntries(state),
    ...openWaitEntries(state),
    closingMessage(place, failed ? 'error' : 'aborted', scope.partial, info),
  ]
  await append(entries)
  await endRun(closing, [endedEntry(state, plan, failed ? 'failed' : 'aborted', info, place)])
}

const abortedWhilePending = {
  code: 'aborted-while-pending',
  message: 'The run was aborted while a call waited for a human.',
  hint: "Abort with onPendingApprovals: 'hold' to keep the question open.",
}
