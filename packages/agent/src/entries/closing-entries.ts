import type { EntryOf, NewEntry } from '@provost/core'

import { newEntry, placeOf } from '../state/entry.ts'
import { callsAt } from '../state/next-action.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import { unstartedEntry } from './call-entries.ts'

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
  const stages = [
    'planned',
    'deferred',
    'ready',
    'answered',
    'started',
    'parked',
    'resumable',
    'waiting',
    'delivered',
  ] as const
  // Calls of a composite end before the composite.
  const inside = [...state.run.nestedCalls.values()].filter(({ stage }) => stage !== 'settled').toReversed()
  const open = [...inside, ...callsAt(state.run, ...stages)]
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

/** Returns the entries that deny all open approvals. */
export function openWaitEntries(state: SessionState): readonly NewEntry[] {
  return [...state.waits.values()]
    .filter((wait) => wait.kind === 'approval')
    .map(({ token }) =>
      newEntry(placeOf(state), `${token}/resolved`, {
        type: 'resolved',
        token,
        value: { decision: 'deny', reason: 'The run was ended.' },
        by: 'abort',
      }),
    )
}
