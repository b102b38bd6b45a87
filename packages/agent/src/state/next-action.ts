import type {
  EntryOf,
  Json,
  PendingApproval,
  PendingInput,
  PendingRemoteCall,
  PendingUncertain,
  PendingWork,
  Timestamp,
} from '@provost/core'
import { assertNever, noPendingWork, unknownSubject, checkArguments } from '@provost/core'

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

/** One pending wait, in the form that callers answer. */
export type PendingWait =
  | { readonly kind: 'approval'; readonly wait: PendingApproval }
  | { readonly kind: 'remote'; readonly wait: PendingRemoteCall }
  | { readonly kind: 'uncertain'; readonly wait: PendingUncertain }
  | { readonly kind: 'input'; readonly wait: PendingInput }

/** The call that a wait is about, as far as it is known. */
export interface WaitingCall {
  readonly toolName: string
  readonly input: Json
  readonly startedAt?: Timestamp | undefined
}

/**
 * Returns a wait in the form that callers answer.
 *
 * @param call the call that it is about. A wait of a child has its own copy.
 */
export function pendingWait(entry: EntryOf<'wait'>, call?: WaitingCall): PendingWait {
  const { effectStatus, child } = entry
  const shared = {
    id: entry.token,
    callId: entry.callId ?? entry.token,
    toolName: child?.toolName ?? call?.toolName ?? '',
    agent: child?.agent ?? entry.agent,
    runPath: [entry.runId, ...(child?.runPath ?? [])],
    ...(entry.deadline !== undefined && { expiresAt: entry.deadline }),
    input: child?.input ?? call?.input ?? null,
  }
  switch (entry.kind) {
    case 'approval': {
      const wait = {
        ...shared,
        reason: entry.reason ?? '',
        ...(entry.evidence !== undefined && { evidence: entry.evidence }),
        ...(entry.batch !== undefined && { batch: entry.batch }),
        ...(entry.about ?? unknownSubject),
      }
      return { kind: 'approval', wait }
    }
    case 'remote':
      return { kind: 'remote', wait: shared }
    case 'uncertain': {
      // A call that repeats another one in doubt has not started itself.
      const startedAt = child?.startedAt ?? (call?.startedAt || entry.at)
      return { kind: 'uncertain', wait: { ...shared, startedAt, ...(effectStatus && { effectStatus }) } }
    }
    case 'input': {
      const { input: _, ...about } = shared
      const wait = {
        ...about,
        message: entry.reason ?? '',
        ...(entry.schema && { schema: entry.schema }),
        ...(entry.approves && { approves: entry.approves }),
      }
      return { kind: 'input', wait }
    }
    default:
      return assertNever(entry.kind)
  }
}

/** Returns waits of the run in the form that callers answer. */
export function pendingOn({ run }: SessionState, waits: Iterable<EntryOf<'wait'>>): PendingWork {
  if (!run) return noPendingWork
  const approvals: PendingApproval[] = []
  const remoteCalls: PendingRemoteCall[] = []
  const uncertain: PendingUncertain[] = []
  const inputs: PendingInput[] = []
  for (const entry of waits) {
    const call = entry.callId === undefined ? undefined : callOf(run, entry.callId)
    const about = call && { toolName: call.part.toolName, input: call.args, startedAt: call.startedAt }
    const { kind, wait } = pendingWait(entry, about)
    if (kind === 'approval') approvals.push(wait)
    else if (kind === 'remote') remoteCalls.push(wait)
    else if (kind === 'uncertain') uncertain.push(wait)
    else inputs.push(wait)
  }
  return { approvals, remoteCalls, uncertain, inputs }
}
