import type { Decisions, EntryOf, ErrorInfo, Json, NewEntry } from '@provost/core'
import { ProvostError, toJson } from '@provost/core'

import { newEntry, placeOf } from './entry.ts'
import { waitKey } from './fold.ts'
import type { LogState } from './log-state.ts'

/** Entries that resolve waits; `denied` when a human refused the model's answer, which ends the run. */
export interface Resolution {
  readonly entries: readonly NewEntry[]
  readonly denied?: ErrorInfo
}

/**
 * The entries that decisions come to. A wait that is over already stays as it was decided first.
 *
 * @throws ProvostError `unknown-wait` for a token or call that this log never waited for.
 */
export function resolvedEntries(state: LogState, decisions: Decisions): Resolution {
  const entries: NewEntry[] = []
  let denied: ErrorInfo | undefined
  const ofCall = waitsOfCalls(state)
  const resolve = (wait: EntryOf<'wait'> | undefined, value: Json, by: string): void => {
    if (!wait) return
    entries.push(newEntry(placeOf(state), `${wait.token}/resolved`, { type: 'resolved', token: wait.token, value, by }))
  }
  for (const { id, by = 'caller', decision, reason, args, sticky } of decisions.approvals ?? []) {
    const wait = waitFor(state, id, 'approval')
    resolve(
      wait,
      {
        decision,
        ...(reason !== undefined && { reason }),
        ...(args !== undefined && { args: toJson(args) }),
        ...(sticky && { sticky }),
      },
      by,
    )
    if (wait && decision !== 'approve' && state.run?.candidate?.token === id) {
      denied = { code: 'answer-denied', message: reason ?? 'The answer was not approved.' }
    }
  }
  for (const { callId, output } of decisions.toolResults ?? []) {
    resolve(ofCall(callId, 'remote'), toJson(output), 'remote')
  }
  for (const { callId, decision, output } of decisions.uncertain ?? []) {
    const value = { decision, ...(output !== undefined && { output: toJson(output) }) }
    resolve(ofCall(callId, 'uncertain'), value, 'caller')
  }
  for (const { id, value } of decisions.inputs ?? []) resolve(waitFor(state, id, 'input'), toJson(value), 'caller')
  return { entries, ...(denied && { denied }) }
}

/** Who may answer one kind of question may not answer another. */
function waitFor(state: LogState, token: string, kind: 'approval' | 'input'): EntryOf<'wait'> | undefined {
  const wait = state.waits.get(token)
  if (wait ? wait.kind !== kind : !state.resolved.has(token)) throw unknownWait(token)
  return wait
}

/** Open waits by what they are about: a call may wait again for what it has waited for before. */
function waitsOfCalls(state: LogState): (callId: string, kind: 'remote' | 'uncertain') => EntryOf<'wait'> | undefined {
  const open = new Map<string, EntryOf<'wait'>>()
  for (const wait of state.waits.values())
    if (wait.callId !== undefined) open.set(waitKey(wait.kind, wait.callId), wait)
  return (callId, kind) => {
    const key = waitKey(kind, callId)
    const wait = open.get(key)
    if (!wait && !state.resolved.has(key)) throw unknownWait(callId)
    return wait
  }
}

/** The decisions that answer what is waited for now, and those that came early and are kept. */
export function dueDecisions(
  state: LogState,
  decisions: Decisions,
): { readonly due?: Decisions; readonly early?: Decisions } {
  const known = (token: string): boolean => state.waits.has(token) || state.resolved.has(token)
  const calls = new Set([...state.waits.values()].map((wait) => wait.callId))
  const knownCall = (callId: string): boolean =>
    calls.has(callId) ||
    state.resolved.has(waitKey('remote', callId)) ||
    state.resolved.has(waitKey('uncertain', callId))
  const due = pick(decisions, known, knownCall)
  const early = pick(
    decisions,
    (token) => !known(token),
    (callId) => !knownCall(callId),
  )
  return { ...(due && { due }), ...(early && { early }) }
}

function pick(
  decisions: Decisions,
  token: (id: string) => boolean,
  call: (callId: string) => boolean,
): Decisions | undefined {
  const approvals = (decisions.approvals ?? []).filter(({ id }) => token(id))
  const inputs = (decisions.inputs ?? []).filter(({ id }) => token(id))
  const toolResults = (decisions.toolResults ?? []).filter(({ callId }) => call(callId))
  const uncertain = (decisions.uncertain ?? []).filter(({ callId }) => call(callId))
  const any = approvals.length + inputs.length + toolResults.length + uncertain.length > 0
  return any ? { approvals, inputs, toolResults, uncertain } : undefined
}

function unknownWait(token: string): ProvostError {
  return new ProvostError('unknown-wait', `This run never waited for ${token}.`, {
    hint: 'Take ids from result.pending or from the event that asked.',
  })
}
