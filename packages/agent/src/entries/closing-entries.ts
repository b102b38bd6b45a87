import type { EntryOf, NewEntry } from '@provost/core'

import { openCalls } from '../state/next-action.ts'
import { callOf } from '../state/session-state.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import { unstartedEntry } from './call-entries.ts'
import { resolvedEntry } from './wait-entries.ts'

/**
 * Returns the entries that end all open calls.
 *
 * @param held calls of the model that stay open, with everything within them.
 */
export function openCallEntries(state: SessionState, held: readonly CallState[] = []): readonly NewEntry[] {
  if (!state.run) return []
  const isHeld = ({ part }: CallState): boolean =>
    held.some((call) => part.callId === call.part.callId || part.callId.startsWith(`${call.part.callId}/`))
  const waits = new Map([...state.waits.values()].map((wait) => [wait.callId, wait.kind]))
  // Calls of a composite end before the composite.
  const inside = [...state.run.nestedCalls.values()].filter(({ stage }) => stage !== 'settled').toReversed()
  const open = [...inside, ...openCalls(state)]
  return open.flatMap((call) => {
    if (isHeld(call)) return []
    const kind = waits.get(call.part.callId)
    return kind === 'approval'
      ? unstartedEntry(state, call, 'denied', 'Not approved: the run was ended.')
      : unstartedEntry(state, call, 'aborted', callOutcomeText(kind))
  })
}

/** The model must not assume that a call had no effect if it may have had one. */
function callOutcomeText(kind: EntryOf<'wait'>['kind'] | undefined): string {
  if (kind === 'uncertain') return 'Outcome unknown: the process died during this call, and the run was ended.'
  if (kind === 'remote') return 'The run was ended before the result came; the call may still take effect elsewhere.'
  return 'The run was ended before this call had a result.'
}

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

/** Returns the entries that deny all open approvals. */
export function openWaitEntries(state: SessionState): readonly NewEntry[] {
  return [...state.waits.values()]
    .filter((wait) => wait.kind === 'approval')
    .map(({ token }) => resolvedEntry(state, token, { decision: 'deny', reason: 'The run was ended.' }, 'abort'))
}
