import type {
  ApprovalDecision,
  BatchDecision,
  Decisions,
  Delivery,
  EntryOf,
  ErrorInfo,
  Json,
  NewEntry,
  RemoteResult,
  UncertainDecision,
} from '@provost/core'
import { ProvostError, isRecord, toJson } from '@provost/core'

import { readRemoteValue, remoteValue } from '../messages/remote-value.ts'
import { clock, readVerdict, waitKey } from '../reducers/wait-reducer.ts'
import { newEntry, placeOf } from '../state/entry.ts'
import type { SessionState } from '../types/session-state.ts'
import { expandBatches, unknownRow } from './batch-decision.ts'

/** Entries that resolve waits; `denied` if a human denied the model's answer, which ends the run. */
export interface Resolution {
  readonly entries: readonly NewEntry[]
  readonly denied?: ErrorInfo
}

/**
 * Returns the entries for decisions. A closed wait keeps its first decision.
 *
 * @throws ProvostError `unknown-wait` for a token, batch or call that this log never waited for.
 */
export function resolvedEntries(state: SessionState, given: Decisions): Resolution {
  for (const batch of given.batches ?? []) {
    const unknown = unknownRow(state, batch)
    if (unknown !== undefined) throw unknownWait(unknown)
  }
  const decisions = expandBatches(state, given)
  const entries: NewEntry[] = []
  let denied: ErrorInfo | undefined
  const ofCall = waitsOfCalls(state)
  const resolve = (wait: EntryOf<'wait'> | undefined, value: Json, by: string): void => {
    if (!wait) return
    entries.push(newEntry(placeOf(state), `${wait.token}/resolved`, { type: 'resolved', token: wait.token, value, by }))
  }
  for (const { id, by = 'caller', decision, reason, args, propose, sticky } of decisions.approvals ?? []) {
    const wait = waitFor(state, id, 'approval')
    resolve(
      wait,
      {
        decision,
        ...(reason !== undefined && { reason }),
        ...(args !== undefined && { args: toJson(args) }),
        ...(propose && { propose }),
        ...(sticky && { sticky }),
      },
      by,
    )
    if (wait && decision !== 'approve' && state.run?.unapprovedAnswer?.token === id) {
      denied = { code: 'response-denied', message: reason ?? 'The answer was not approved.' }
    }
  }
  for (const { callId, by = 'remote', ...ended } of decisions.toolResults ?? []) {
    resolve(ofCall(callId, 'remote'), remoteValue(ended), by === clock ? 'remote' : by)
  }
  for (const { callId, decision, output, by = 'caller' } of decisions.uncertain ?? []) {
    const value = { decision, ...(output !== undefined && { output: toJson(output) }) }
    resolve(ofCall(callId, 'uncertain'), value, by)
  }
  for (const { id, value } of decisions.inputs ?? []) resolve(waitFor(state, id, 'input'), toJson(value), 'caller')
  return { entries, ...(denied && { denied }) }
}

/** A token of one kind of question does not answer another kind. */
function waitFor(state: SessionState, token: string, kind: 'approval' | 'input'): EntryOf<'wait'> | undefined {
  const wait = state.waits.get(token)
  if (wait ? wait.kind !== kind : !state.resolvedWaits.has(token)) throw unknownWait(token)
  return wait
}

/** Returns a lookup of open waits by call and kind: a call may wait again for the same thing. */
function waitsOfCalls(
  state: SessionState,
): (callId: string, kind: 'remote' | 'uncertain') => EntryOf<'wait'> | undefined {
  const open = new Map<string, EntryOf<'wait'>>()
  for (const wait of state.waits.values())
    if (wait.callId !== undefined) open.set(waitKey(wait.kind, wait.callId), wait)
  return (callId, kind) => {
    const key = waitKey(kind, callId)
    const wait = open.get(key)
    if (!wait && !state.resolvedWaits.has(key)) throw unknownWait(callId)
    return wait
  }
}

/** Splits decisions into those for known waits and those that arrived early. */
export function dueDecisions(
  state: SessionState,
  decisions: Decisions,
): { readonly due?: Decisions; readonly early?: Decisions } {
  const known = (token: string): boolean => state.waits.has(token) || state.resolvedWaits.has(token)
  const calls = new Set([...state.waits.values()].map((wait) => wait.callId))
  const knownCall = (callId: string): boolean =>
    calls.has(callId) ||
    state.resolvedWaits.has(waitKey('remote', callId)) ||
    state.resolvedWaits.has(waitKey('uncertain', callId))
  const knownBatch = (batch: BatchDecision): boolean => unknownRow(state, batch) === undefined
  const due = pick(decisions, known, knownCall, knownBatch)
  const early = pick(
    decisions,
    (token) => !known(token),
    (callId) => !knownCall(callId),
    (batch) => !knownBatch(batch),
  )
  return { ...(due && { due }), ...(early && { early }) }
}

/**
 * Makes answers of the decisions on open waits. Early ones stay in the list; decisions on closed waits are dropped.
 *
 * @throws ProvostError `unknown-wait` for a call that waits for something else.
 */
export function answerWaits(state: SessionState, decisions: Decisions[], answers: Map<string, Delivery>): void {
  const left: Decisions[] = []
  try {
    for (let given = decisions.shift(); given; given = decisions.shift()) {
      const { due, early } = dueDecisions(state, given)
      if (early) left.push(early)
      for (const entry of due ? resolvedEntries(state, due).entries : []) {
        if (entry.type !== 'resolved' || answers.has(entry.token)) continue
        const { token, value, by } = entry
        answers.set(token, { id: token, token, value, by, at: state.clock.now() })
      }
    }
  } finally {
    decisions.unshift(...left)
  }
}

/** Returns the deliveries for open waits. They stay in the map until the log has them: the run may end before. */
export function deliveredDecisions(
  state: SessionState,
  deliveries: ReadonlyMap<string, Delivery>,
): Decisions | undefined {
  if (deliveries.size === 0) return undefined
  const approvals: ApprovalDecision[] = []
  const toolResults: RemoteResult[] = []
  const uncertain: UncertainDecision[] = []
  const inputs: { id: string; value: Json }[] = []
  for (const { token, kind, callId = token, deadline = Number.POSITIVE_INFINITY } of state.waits.values()) {
    const delivery = deliveries.get(token)
    // A late delivery is kept; the code that expires the wait reports it.
    if (!delivery || delivery.at > deadline) continue
    const { value, by } = delivery
    if (kind === 'approval') approvals.push(readVerdict({ token, value, by }))
    else if (kind === 'remote') toolResults.push({ callId, ...readRemoteValue(value), by })
    else if (kind === 'uncertain') uncertain.push(readUncertain(callId, value, by))
    else inputs.push({ id: token, value })
  }
  const any = approvals.length + toolResults.length + uncertain.length + inputs.length > 0
  return any ? { approvals, toolResults, uncertain, inputs } : undefined
}

/** Reads a decision about an uncertain call. A value that is not clearly a decision gives the call up. */
function readUncertain(callId: string, value: Json, by: string): UncertainDecision {
  const { decision, output }: Record<string, unknown> = isRecord(value) ? value : {}
  return {
    callId,
    decision: decision === 'retry' || decision === 'done' ? decision : 'fail',
    ...(output !== undefined && { output }),
    by,
  }
}

function pick(
  decisions: Decisions,
  token: (id: string) => boolean,
  call: (callId: string) => boolean,
  batch: (decision: BatchDecision) => boolean,
): Decisions | undefined {
  const batches = (decisions.batches ?? []).filter(batch)
  const approvals = (decisions.approvals ?? []).filter(({ id }) => token(id))
  const inputs = (decisions.inputs ?? []).filter(({ id }) => token(id))
  const toolResults = (decisions.toolResults ?? []).filter(({ callId }) => call(callId))
  const uncertain = (decisions.uncertain ?? []).filter(({ callId }) => call(callId))
  const any = approvals.length + batches.length + inputs.length + toolResults.length + uncertain.length > 0
  return any ? { approvals, batches, inputs, toolResults, uncertain } : undefined
}

/** Returns the error for a token that the log never waited for. */
export function unknownWait(token: string): ProvostError {
  return new ProvostError('unknown-wait', `Unknown wait: ${token}.`, {
    hint: 'Take ids from result.pending or from the event that asked.',
  })
}
