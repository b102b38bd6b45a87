import type { NewEntry } from '@provost/core'

import { callOf } from '../state/session-state.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import { unstartedEntry } from './call-entries.ts'
import { resolvedEntry } from './wait-entries.ts'

/** Returns the entries that end the calls of a composite that it did not wait for, the deepest first. */
export function unawaitedCalls(state: SessionState, composite: CallState): readonly NewEntry[] {
  const { run } = state
  if (!run || run.nestedCalls.size === 0) return []
  const { callId } = composite.part
  const open = [...run.nestedCalls.values()].filter((call) => call.stage !== 'settled' && isWithin(state, call, callId))
  return open.toReversed().flatMap((call) => {
    const reason = 'Not waited for: the call that made this one has ended.'
    const refused = { decision: 'deny', reason }
    const asked = [...state.waits.values()].filter((wait) => wait.callId === call.part.callId)
    const answers = asked.flatMap(({ token, kind }) =>
      kind === 'approval' ? [resolvedEntry(state, token, refused, 'composite')] : [],
    )
    return [...answers, unstartedEntry(state, call, answers.length > 0 ? 'denied' : 'aborted', reason)]
  })
}

function isWithin({ run }: SessionState, call: CallState, callId: string): boolean {
  if (!run) return false
  let at: CallState | undefined = call
  while (at?.parentCallId !== undefined) {
    if (at.parentCallId === callId) return true
    at = callOf(run, at.parentCallId)
  }
  return false
}
