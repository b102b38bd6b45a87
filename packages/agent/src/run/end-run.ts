import type { NewEntry, RunResult } from '@provost/core'

import { runPaced } from '../control/paced-work.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { agentNamed } from '../handoff/active-agent.ts'
import { foldInSteps } from '../hooks/fold-value.ts'
import { runHooks } from '../hooks/run-hooks.ts'
import { isAwaited } from '../messages/child-message.ts'
import { runResult } from '../result/run-result.ts'
import { nextDeadline } from '../state/wait-deadlines.ts'
import type { Hooked } from '../types/hooks.ts'
import type { AppendResult } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import type { SessionState } from '../types/session-state.ts'

/**
 * Ends or suspends a run. The `run.end` hooks receive the result, then the final entries are written. After a crash in
 * between the hooks run again, so they run at least once.
 *
 * @param entries the last one ends or suspends the run.
 */
export async function endRun(scope: RunContext, entries: readonly NewEntry[]): Promise<AppendResult> {
  const { append } = scope.logWriter
  const end = entries.at(-1)
  // Another process may resume the run, so the store has to have what was sent here.
  if (end?.type === 'run' && end.op === 'suspended') await scope.inbox.arriving()
  if (!end) return append(entries)
  if (endHooks(scope).length === 0) return append([...entries.slice(0, -1), withWake(scope, end)])
  await append(entries.slice(0, -1))
  const ids = { sessionId: scope.sessionId, runId: scope.id }
  await runEndHooks(scope, await runResult(scope.entryAgent, stateAfter(scope.state, end), ids))
  // An abort that arrived meanwhile ends the run, which does not wait.
  if (end.type === 'run' && end.op === 'suspended' && !end.yielded && !isHeld(scope)) stopIfAborted(scope)
  return append([withWake(scope, end)])
}

const isHeld = ({ control }: RunContext): boolean => control.isAborted && control.pendingPolicy === 'hold'

/** Milliseconds after which another process reports the rest of a child that may run on any worker. */
const reportMs = 2_000

/** Adds what makes the session due again: the run's next deadline, and the last delivery that it has read. */
function withWake(scope: RunContext, end: NewEntry): NewEntry {
  const { state, inbox, parentRun } = scope
  if (parentRun?.within || end.type !== 'run') return end
  // If this process dies before the run above has its letter, another one sends it.
  const isReported = parentRun !== undefined && (end.op === 'ended' || state.waits.size > 0)
  const report = isReported ? state.clock.now() + reportMs : Number.POSITIVE_INFINITY
  if (end.op === 'ended' && parentRun) return { ...end, due: report, seen: inbox.lastRead() }
  // An input that was read and not taken starts the next run, except after a failure.
  if (end.op === 'ended') return { ...end, seen: end.status === 'completed' ? inbox.lastTaken() : inbox.lastRead() }
  if (end.op !== 'suspended') return end
  // An answer may arrive after the run has decided to wait: this process resumes it, or another one if this one dies.
  const isAnswered = [...inbox.answers.keys()].some((token) => isAwaited(state, token))
  // Or an abort, which is being recorded as taken.
  const isRequested = scope.control.isRequested && !isHeld(scope)
  const deadline = end.yielded || isAnswered || isRequested ? state.clock.now() : Math.min(report, nextDeadline(state))
  return { ...end, ...(Number.isFinite(deadline) && { due: deadline }), seen: inbox.lastRead() }
}

/** Runs `run.end` hooks with the result of a run. */
export async function runEndHooks(
  scope: RunContext,
  result: RunResult<unknown>,
  hooks: readonly Hooked<'run.end'>[] = endHooks(scope),
): Promise<void> {
  await runHooks(scope, 'run.end', undefined, {
    hooks,
    // An abort does not end this work: what a hook writes of the end of the run would be missing.
    changes: {
      foldInTurns: (fold) => runPaced(foldInSteps(scope.state, fold)),
      inTurns: (work) => runPaced(work),
    },
    call: (hook, ctx) => hook(result, ctx),
    wait: (answer) => withinGrace(scope, answer),
  })
}

/** Returns the `run.end` hooks of the active agent and of all earlier agents of the run. */
export function endHooks({ agent, entryAgent, state }: RunContext): readonly Hooked<'run.end'>[] {
  const hooks = [...agent.hooks['run.end']]
  for (const name of state.run?.agents ?? []) {
    if (name === agent.name) continue
    for (const hooked of agentNamed(entryAgent, name)?.hooks['run.end'] ?? []) {
      if (!hooks.some(({ extension }) => extension === hooked.extension)) hooks.push(hooked)
    }
  }
  return hooks
}

/** Milliseconds that `run.end` hooks have after an abort without a grace, so that an audit can still write its last link. */
const hookGraceMs = 500

/** Waits for work. After an abort it waits at most the grace of tools, or {@link hookGraceMs} if that is longer. */
async function withinGrace<T>(ctx: RunContext, work: PromiseLike<T>): Promise<T | undefined> {
  const { signal } = ctx
  const over = Promise.withResolvers<undefined>()
  let grace: NodeJS.Timeout | undefined
  const count = (): void =>
    void (grace = setTimeout(over.resolve, Math.max(ctx.control.graceMs, hookGraceMs), undefined))
  if (signal.aborted) count()
  else signal.addEventListener('abort', count, { once: true })
  try {
    return await Promise.race([work, over.promise])
  } finally {
    signal.removeEventListener('abort', count)
    clearTimeout(grace)
  }
}

/** Returns the state as it will be when the last entry is recorded in the log. */
function stateAfter(state: SessionState, last: NewEntry): SessionState {
  if (!state.run || last.type !== 'run') return state
  const status = last.op === 'ended' ? last.status : 'suspended'
  const { output, error } = last.op === 'ended' ? last : {}
  const offset = state.offset + 1
  return {
    ...state,
    entries: [...state.entries, { ...last, offset }],
    offset,
    run: { ...state.run, status, ...(output !== undefined && { output }), ...(error && { error }) },
  }
}
