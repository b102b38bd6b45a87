import type {
  EntryOf,
  PendingApproval,
  PendingInput,
  PendingRemoteCall,
  PendingUncertain,
  PendingWork,
} from '@provost/core'
import { noPendingWork, unknownSubject, checkArguments } from '@provost/core'

import type { CallState, NextAction, RunProgress, SessionState } from '../types/session-state.ts'
import { callOf } from './session-state.ts'

/**
 * Returns the next action of a log's last run, from the log alone.
 *
 * - `start-step`: a step begins.
 * - `retry-step`: the attempts of the step have failed so far.
 * - `run-tools`: the calls of the step are authorized and run.
 * - `wait`: the run needs outside input.
 * - `finish`: the run ends, unless queued input continues it.
 */
export function nextAction(state: SessionState): NextAction {
  const { run } = state
  if (!run || run.status === 'completed' || run.status === 'aborted' || run.status === 'failed') return 'finish'
  if (run.unapprovedAnswer) return 'wait'
  if (run.openCalls > 0) return canCallsAdvance(run) ? 'run-tools' : 'wait'
  if (run.answer) return 'finish'
  return run.attempts > 0 ? 'retry-step' : 'start-step'
}

function canCallsAdvance(run: RunProgress): boolean {
  for (const call of run.calls.values()) if (canAdvance(call)) return true
  return false
}

/** Returns whether a call can advance without input from outside and without results of other calls. */
export function canAdvance({ stage }: CallState): boolean {
  return stage !== 'settled' && stage !== 'waiting' && stage !== 'deferred' && stage !== 'parked'
}

/** Returns the calls of the current step without a result, in order. */
export function openCalls({ run }: SessionState): readonly CallState[] {
  return [...(run?.calls.values() ?? [])].filter(({ stage }) => stage !== 'settled')
}

/** Returns what the run waits for. */
export function pendingWork(state: SessionState): PendingWork {
  checkArguments('pendingWork', [state], ['state'])
  return pendingOn(state, state.waits.values())
}

/** Returns waits of the run in the form that callers answer. */
export function pendingOn({ run }: SessionState, waits: Iterable<EntryOf<'wait'>>): PendingWork {
  if (!run) return noPendingWork
  const approvals: PendingApproval[] = []
  const remoteCalls: PendingRemoteCall[] = []
  const uncertain: PendingUncertain[] = []
  const inputs: PendingInput[] = []
  for (const wait of waits) {
    const { effectStatus } = wait
    const call = wait.callId === undefined ? undefined : callOf(run, wait.callId)
    const shared = {
      id: wait.token,
      callId: wait.callId ?? wait.token,
      toolName: wait.child?.toolName ?? call?.part.toolName ?? '',
      agent: wait.child?.agent ?? wait.agent,
      runPath: [wait.runId, ...(wait.child?.runPath ?? [])],
      ...(wait.deadline !== undefined && { expiresAt: wait.deadline }),
      input: wait.child?.input ?? call?.args ?? null,
    }
    if (wait.kind === 'approval') {
      approvals.push({
        ...shared,
        reason: wait.reason ?? '',
        ...(wait.evidence !== undefined && { evidence: wait.evidence }),
        ...(wait.batch !== undefined && { batch: wait.batch }),
        ...(wait.about ?? unknownSubject),
      })
    } else if (wait.kind === 'remote') remoteCalls.push(shared)
    else if (wait.kind === 'uncertain')
      uncertain.push({
        ...shared,
        // A call that repeats another one in doubt has not started itself.
        startedAt: wait.child?.startedAt ?? (call?.startedAt || wait.at),
        ...(effectStatus && { effectStatus }),
      })
    else if (wait.kind === 'input') {
      const { input: _, ...about } = shared
      inputs.push({
        ...about,
        message: wait.reason ?? '',
        ...(wait.schema && { schema: wait.schema }),
        ...(wait.approves && { approves: wait.approves }),
      })
    }
  }
  return { approvals, remoteCalls, uncertain, inputs }
}
