import type { Delivery, EffectStatus, EntryOf, Json, NewEntry, ToolQuestion, WaitAbout } from '@provost/core'
import { toJson } from '@provost/core'

import { isAwaited } from '../messages/child-message.ts'
import { attemptInDoubt, clock } from '../reducers/wait-reducer.ts'
import { statusOf } from '../state/effect-status.ts'
import { newEntry, placeOf } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { Authorization } from '../types/loop.ts'
import type { CallState, SessionState } from '../types/session-state.ts'

/** Returns the entry that asks a human about a call, alone or as a row of a batch. */
export function approvalWait(
  place: EntryContext,
  call: CallState,
  { ask, about }: Extract<Authorization, { ask: unknown }>,
  batch?: string,
): NewEntry {
  const token = `${call.part.callId}/approval/${call.decisions + 1}`
  return newEntry(place, token, {
    type: 'wait',
    token,
    kind: 'approval',
    callId: call.part.callId,
    reason: ask.reason,
    ...(ask.evidence !== undefined && { evidence: toJson(ask.evidence) }),
    ...(ask.expiresInMs !== undefined && { deadline: place.clock.now() + ask.expiresInMs }),
    ...(ask.sticky && { sticky: ask.sticky }),
    ...(batch !== undefined && { batch }),
    ...(about && { about }),
  })
}

/**
 * Returns the entry that parks a call until its remote result arrives.
 *
 * @param withinMs milliseconds after which the result is rejected.
 */
export function remoteWait(
  state: SessionState,
  call: CallState,
  withinMs: number = Number.POSITIVE_INFINITY,
): NewEntry {
  return callWait(
    state,
    call,
    'remote',
    withinMs === Number.POSITIVE_INFINITY ? {} : { deadline: state.clock.now() + withinMs },
  )
}

/**
 * Returns the entry that parks a call whose outcome is unknown.
 *
 * @param inDoubt the effect, if another call attempted it. Default: the call itself is in doubt, as its process died.
 */
export function uncertainWait(state: SessionState, call: CallState, inDoubt?: EffectStatus): NewEntry {
  if (inDoubt)
    return callWait(state, call, 'uncertain', { evidence: { attempt: inDoubt.attempt }, effectStatus: inDoubt })
  const effectStatus = call.effect && statusOf(call.effect, 'unknown')
  return callWait(state, call, 'uncertain', effectStatus ? { effectStatus } : {})
}

function callWait(
  state: SessionState,
  call: CallState,
  kind: 'remote' | 'uncertain',
  more: { readonly deadline?: number; readonly evidence?: Json; readonly effectStatus?: EffectStatus } = {},
): NewEntry {
  const attempt = attemptInDoubt(more)
  const token = `${call.part.callId}/${kind}/${call.starts}${attempt === undefined ? '' : `/${attempt}`}`
  return newEntry(placeOf(state), token, { type: 'wait', token, kind, callId: call.part.callId, ...more })
}

/** Returns the entry for a question of a running tool. The call keeps its stage. */
export function inputWait(
  state: SessionState,
  call: CallState,
  { message, schema }: ToolQuestion,
  key: string,
  deadline: number,
): NewEntry {
  const { callId } = call.part
  const token = `${callId}/input/${key}`
  const more = { reason: message, deadline, ...(schema && { schema }) }
  return newEntry(placeOf(state), token, { type: 'wait', token, kind: 'input', callId, ...more })
}

/** Returns the entry for a composite that waits for an answer from outside. */
export function parkingWait(state: SessionState, call: CallState, token: string, about: WaitAbout): NewEntry {
  const { message = '', schema, approves, withinMs = Number.POSITIVE_INFINITY } = about
  return newEntry(placeOf(state), token, {
    type: 'wait',
    token,
    kind: 'input',
    callId: call.part.callId,
    parks: true,
    reason: message,
    ...(schema && { schema }),
    ...(approves && { approves }),
    ...(Number.isFinite(withinMs) && { deadline: state.clock.now() + withinMs }),
  })
}

/** Returns the entry that answers a question, or closes it without an answer. */
export function resolvedEntry(state: SessionState, token: string, value: Json, by: string): NewEntry {
  return newEntry(placeOf(state), `${token}/resolved`, { type: 'resolved', token, value, by })
}

/** Returns the entry for a wait that timed out: its call ends with a timeout. */
export function expiredEntry(state: SessionState, { token }: EntryOf<'wait'>): NewEntry {
  return resolvedEntry(state, token, null, clock)
}

/** Returns the entries for the letters of children elsewhere. */
export function letterEntries(state: SessionState, answers: ReadonlyMap<string, Delivery>): readonly NewEntry[] {
  return [...answers.values()]
    .filter(({ token }) => !state.waits.has(token) && isAwaited(state, token))
    .map(({ token, by }) => takenEntry(placeOf(state), token, by))
}

/**
 * Returns the entry for a consumed inbox delivery: it does not enter again.
 *
 * @param data of the sender.
 */
export function takenEntry(place: EntryContext, token: string, by = 'inbox', data?: Json): NewEntry {
  const value = data === undefined ? null : { data }
  return newEntry(place, `${token}/resolved`, { type: 'resolved', token, value, by })
}
