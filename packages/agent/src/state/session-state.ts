import type { Clock } from '@provost/core'
import { joinLabels, systemClock } from '@provost/core'

import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'

/**
 * Returns the state of an empty log.
 *
 * @param clock of the store that the log is in.
 */
export function emptySessionState(clock: Clock = systemClock): SessionState {
  return {
    clock,
    entries: [],
    offset: 0,
    systemMessages: new Map(),
    messages: [],
    hidden: new Set(),
    view: [],
    viewVersion: 0,
    viewLabel: joinLabels(),
    userMessages: [],
    waits: new Map(),
    resolvedWaits: new Set(),
    sessionApprovals: new Map(),
    memos: new Map(),
    modelNames: new WeakMap(),
    forkedFrom: undefined,
    overrides: undefined,
    agent: '',
    handoffPath: [],
    requiredExtensions: new Map(),
    run: undefined,
    earlier: { usage: {}, byModel: new Map() },
    completedMessage: undefined,
  }
}

/** Returns a call of the current step, of the model or of a composite. */
export function callOf({ calls, nestedCalls }: RunProgress, callId: string): CallState | undefined {
  return calls.get(callId) ?? nestedCalls.get(callId)
}

/** Returns the model's call that a composite's call is part of; the call itself if the model made it. */
export function outermost(run: RunProgress, call: CallState): CallState {
  let at = call
  for (;;) {
    const parent = at.parentCallId === undefined ? undefined : callOf(run, at.parentCallId)
    if (!parent) return at
    at = parent
  }
}
