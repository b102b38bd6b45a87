import type { ApprovalDecision, EntryOf } from '@provost/core'
import { isRecord, toJson, untrustedLabel } from '@provost/core'

import { partOfLetter } from '../messages/child-message.ts'
import { readRemoteValue } from '../messages/remote-value.ts'
import { callOf } from '../state/session-state.ts'
import type { CallState, Delivered, RunProgress, SessionState } from '../types/session-state.ts'
import { answerChild, applyLetter } from './child-reducer.ts'
import { recordCompositeAnswer, resumeComposite } from './composite-reducer.ts'
import { applyAnswer } from './message-reducer.ts'
import { recordApproval } from './session-approvals.ts'

/** The `by` of a wait that timed out; no caller may use it. */
export const clock = 'deadline'

/** Returns the key of a closed wait about a call. */
export function waitKey(kind: EntryOf<'wait'>['kind'], callId: string): string {
  return `${kind} ${callId}`
}

/** Applies a new wait. */
export function applyWait(state: SessionState, run: RunProgress, entry: EntryOf<'wait'>): void {
  // A tool that asks continues to run, as does the composite of a child that waits.
  if (entry.kind === 'input' || entry.child) return
  if (entry.callId === undefined) return
  closeWaits(state, entry.callId, ({ kind, parks }) => kind === 'input' && !parks)
  const call = callOf(run, entry.callId)
  if (!call || call.stage === 'settled') return
  call.stage = 'waiting'
  if (entry.kind === 'approval') call.definitionHash = entry.about?.definitionHash
}

/** Applies the answer to a wait, or another delivery. */
export function applyResolved(state: SessionState, entry: EntryOf<'resolved'>): void {
  const { run } = state
  const wait = state.waits.get(entry.token)
  const sender = state.resolvedWaits.has(entry.token) ? undefined : partOfLetter(run, entry.token)
  state.waits.delete(entry.token)
  settleWait(state, entry.token, wait)
  if (run && sender) applyLetter(run, sender)
  if (!run || !wait) return
  if (wait.child) return answerChild(run, wait.child.callId, entry)
  if (run.unapprovedAnswer?.token === entry.token) {
    const { message } = run.unapprovedAnswer
    run.unapprovedAnswer = undefined
    if (readVerdict(entry).decision === 'approve') applyAnswer(state, run, message)
    return
  }
  const call = wait.callId === undefined ? undefined : callOf(run, wait.callId)
  if (!call || call.stage === 'settled') return
  if (wait.kind === 'input') {
    if (!wait.parks) return
    const given = entry.by === clock ? undefined : entry.value
    recordCompositeAnswer(run, call.part.callId, entry.token, untrustedLabel(call.part.toolName), { given })
    resumeComposite(run, call)
    return
  }
  resumeComposite(run, call)
  if (wait.kind === 'approval') {
    call.approval = readVerdict(entry)
    recordApproval(state, run, call, wait, call.approval)
    call.stage = 'planned'
  } else if (wait.kind === 'uncertain') {
    const value = isRecord(entry.value) ? entry.value : {}
    const { decision, output = null } = value
    if (decision === 'retry') {
      call.stage = 'ready'
      call.cleared = attemptInDoubt(wait)
    } else {
      const fate = decision === 'done' ? 'done' : 'given-up'
      const { effectStatus } = wait
      deliver(call, { output: toJson(output), fate, via: 'human', ...(effectStatus && { effectStatus }) })
    }
  } else {
    const { output = null, error } = readRemoteValue(entry.value)
    const fate = entry.by === clock ? 'expired' : 'done'
    deliver(call, error ? { error, fate: 'failed', via: 'remote' } : { output, fate, via: 'remote' })
  }
}

/** Returns the attempt at an effect that an uncertain call waits for. */
export function attemptInDoubt({ evidence }: Pick<EntryOf<'wait'>, 'evidence'>): number | undefined {
  const attempt = isRecord(evidence) ? evidence['attempt'] : undefined
  return typeof attempt === 'number' ? attempt : undefined
}

function deliver(call: CallState, delivered: Delivered): void {
  call.stage = 'delivered'
  call.delivery = delivered
}

/** Returns the decision that resolved an approval. Every value that is not clearly an approval denies. */
export function readVerdict(entry: Pick<EntryOf<'resolved'>, 'token' | 'value' | 'by'>): ApprovalDecision {
  const value = isRecord(entry.value) ? entry.value : {}
  return {
    id: entry.token,
    decision: value['decision'] === 'approve' ? 'approve' : 'deny',
    by: entry.by,
    ...(typeof value['reason'] === 'string' && { reason: value['reason'] }),
    ...(value['args'] !== undefined && { args: value['args'] }),
    ...(value['propose'] === true && { propose: true }),
    ...(value['sticky'] === 'session' && { sticky: 'session' }),
  }
}

/** Closes the waits of a call that has ended or lost its process. */
export function closeWaits(state: SessionState, callId: string, closes: (wait: EntryOf<'wait'>) => boolean): void {
  for (const [token, wait] of state.waits) {
    if (wait.callId !== callId || !closes(wait)) continue
    state.waits.delete(token)
    settleWait(state, token, wait)
  }
}

/** Marks a wait as closed, and its batch as decided in part. */
export function settleWait(state: SessionState, token: string, wait: EntryOf<'wait'> | undefined): void {
  state.resolvedWaits.add(token)
  if (wait?.batch !== undefined) state.resolvedWaits.add(wait.batch)
  if (wait?.callId !== undefined) state.resolvedWaits.add(waitKey(wait.kind, wait.callId))
}
