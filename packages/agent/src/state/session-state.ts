import { joinLabels } from '@provost/core'

import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'

/** The state of an empty log. */
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

/** The offset of the last entry. */
export function offsetOf(state: SessionState): number {
  return state.entries.at(-1)?.offset ?? 0
}

/** A call of the present step, the model's or a composite's. */
export function callOf({ calls, bridged }: RunProgress, callId: string): CallState | undefined {
  return calls.get(callId) ?? bridged.get(callId)
}

/** The call of the model that a composite's call is part of; itself, if it is one. */
export function outermost(run: RunProgress, call: CallState): CallState {
  let at = call
  for (;;) {
    const parent = at.parentCallId === undefined ? undefined : callOf(run, at.parentCallId)
    if (!parent) return at
    at = parent
  }
}
