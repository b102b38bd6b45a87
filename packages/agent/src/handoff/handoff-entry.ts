import type { Json, Label, Message, NewEntry, Clock } from '@provost/core'
import { toErrorInfo, trustedLabel } from '@provost/core'

import { resolvedAgentOf } from '../definition/agent-registry.ts'
import { messageIn, targetOf } from '../definition/handoff.ts'
import { decidedEntries, settledEntry, unstartedEntry } from '../entries/call-entries.ts'
import { messageOf } from '../messages/message.ts'
import type { TransferredContext } from '../messages/transferred-context.ts'
import { transferContext, viewAtStep } from '../messages/transferred-context.ts'
import { newEntry, placeOf } from '../state/entry.ts'
import { toolCall } from '../state/tool-call.ts'
import type { Handoff } from '../types/agent.ts'
import type { Authorization, TransferResult } from '../types/loop.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'

/** Handoffs that one run may take. The limit ends agents that only hand over to each other. */
export const mostHandoffs = 20

/** Returns the number of handoffs of a run, return handoffs included. */
export function handoffsOfRun({ handoffCount, returnHandoffs }: RunProgress): number {
  return handoffCount + returnHandoffs
}

/** Returns the calls of a step that request a handoff, in order. */
export function handoffCallsIn(agent: ResolvedAgent, run: RunProgress): readonly CallState[] {
  return agent.handoffs.size === 0
    ? []
    : [...run.calls.values()].filter(({ part }) => agent.handoffs.has(part.toolName))
}

/**
 * Returns the entry of a handoff call that is not authorized: the first of a step is deferred until the other calls have
 * ended. All others are skipped, and the first one, too, once the run has reached its limit of handoffs.
 */
export function unjudgedHandoff(
  state: SessionState,
  agent: ResolvedAgent,
  call: CallState,
  [first]: readonly CallState[],
): readonly NewEntry[] {
  const { callId } = call.part
  if (first && call !== first) {
    const to = agent.handoffs.get(first.part.toolName)?.to ?? first.part.toolName
    const why = `Only the first handoff of a step is taken, and that was the one to ${to}.`
    return [unstartedEntry(state, call, 'skipped', why)]
  }
  if (state.run && handoffsOfRun(state.run) >= mostHandoffs) {
    const why = `This conversation was handed over ${mostHandoffs} times without an end. Answer the user yourself.`
    return [unstartedEntry(state, call, 'skipped', why)]
  }
  return [newEntry(placeOf(state), `${callId}/deferred`, { type: 'call', op: 'deferred', callId })]
}

/** Returns the entries of an authorized handoff: the call with its result, the handoff, and the note to the target. */
export function handoffEntries(
  state: SessionState,
  agent: ResolvedAgent,
  call: CallState,
  handoff: Handoff,
  verdict: Authorization,
): readonly NewEntry[] {
  const denied = (verdictOf: Extract<Authorization, { deny: string }>): readonly NewEntry[] => [
    ...decidedEntries(state, call, verdictOf),
    handoffEntry(state, agent, call, handoff, { denied: verdictOf.deny }),
  ]
  if ('deny' in verdict) return denied(verdict)
  if (!('proceed' in verdict)) return decidedEntries(state, call, verdict)
  const crossed = verdict.crossing ?? { filter: handoff.filter }
  let flow: TransferredContext
  try {
    flow = transferredContextAt(state, agent, crossed)
  } catch (thrown) {
    const { code, message } = toErrorInfo(thrown)
    return denied({ deny: message, code, by: 'filter' })
  }
  const crosses = handoffEntry(state, agent, call, handoff, { crossed, flow })
  // The call of a return handoff runs until the target has answered.
  if (handoff.mode === 'return') return [...decidedEntries(state, call, verdict), crosses]
  const output = { type: 'text', value: `${handoff.to} goes on with the conversation.` } as const
  const result = { ...toolCall(agent, call), outcome: 'ok', via: 'executed', output, label: trustedLabel } as const
  const note = noteTo(
    state.clock,
    handoff,
    state.agent,
    { callId: call.part.callId, args: verdict.proceed, label: call.label },
    crossed.with !== undefined,
  )
  const place = { ...placeOf(state), agent: handoff.to }
  return [
    ...decidedEntries(state, call, verdict),
    settledEntry(state, call, result),
    crosses,
    newEntry(place, note.id, { type: 'message', message: note, via: 'system' }),
  ]
}

/** Returns the context that a handoff transfers at the end of the current step. */
export function transferredContextAt(
  state: SessionState,
  agent: ResolvedAgent,
  { filter, with: rewritten }: TransferResult,
): TransferredContext {
  const calls = state.run ? handoffCallsIn(agent, state.run) : []
  return transferContext(viewAtStep(state), new Set(calls.map(({ part }) => part.callId)), filter, rewritten)
}

/**
 * Returns the note to the target of a handoff. It is a user message: providers do not continue from an assistant message.
 *
 * @param rewritten whether a hook replaced the payload: the note then leaves out the message of the caller's model.
 */
export function noteTo(
  clock: Clock,
  { to, mode }: Handoff,
  from: string,
  { callId, args, label }: { readonly callId: string; readonly args: Json; readonly label: Label },
  rewritten: boolean,
): Message {
  const message = rewritten ? '' : messageIn(args)
  const what =
    mode === 'return'
      ? `${from} asks you, ${to}, for an answer to this, and goes on with it.`
      : `${from} handed the conversation over to you, ${to}.`
  const text = `${what}${message && ` What ${from} says: ${message}`}`
  return messageOf({ content: text }, clock, `${callId}/note`, message ? label : trustedLabel, to, 'handoff-note')
}

function handoffEntry(
  state: SessionState,
  agent: ResolvedAgent,
  { part: { callId } }: CallState,
  handoff: Handoff,
  how: { readonly crossed: TransferResult; readonly flow: TransferredContext } | { readonly denied: string },
): NewEntry {
  const { to, mode, filter } = handoff
  const calls = state.run ? handoffCallsIn(agent, state.run) : []
  const others = calls.flatMap(({ part }) => (part.callId === callId ? [] : [part.callId]))
  const call = { type: 'handoff', from: state.agent, to, mode, callId, ...(others.length > 0 && { others }) } as const
  const id = `${callId}/handoff`
  if ('denied' in how) return newEntry(placeOf(state), id, { ...call, filter, hash: '', denied: how.denied })
  const { crossed, flow } = how
  return newEntry(placeOf(state), id, {
    ...call,
    filter: crossed.filter,
    hash: flow.hash,
    label: flow.label,
    // The log of a child records its own manifest.
    ...(mode === 'transfer' && { manifest: resolvedAgentOf(targetOf(handoff)).manifest }),
    ...(crossed.with && { with: crossed.with }),
  })
}
