import { joinLabels } from '@provost/core'

import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'

/** Returns the state of an empty log. */
export function emptyLog(): SessionState {
  return {
    entries: [],
    preludes: new Map(),
    messages: [],
    unsaid: new Set(),
    view: [],
    viewVersion: 0,
    viewLabel: joinLabels(),
    intent: [],
    waits: new Map(),
    resolved: new Set(),
    standing: new Map(),
    memos: new Map(),
    writers: new WeakMap(),
    agent: '',
    lineage: [],
    wanted: new Map(),
    run: undefined,
    completed: undefined,
  }
}

/** Returns the offset of the last entry. */
export function offsetOf(state: SessionState): number {
  return state.entries.at(-1)?.offset ?? 0
}

/** Returns a call of the current step, of the model or of a composite. */
export function callOf({ calls, bridged }: RunProgress, callId: string): CallState | undefined {
  return calls.get(callId) ?? bridged.get(callId)
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
