import type { EntryOf, Grant, Label, NewEntry } from '@provost/core'

import { newEntry, placeOf } from '../state/entry.ts'
import { pendingOn } from '../state/next-action.ts'
import type { CallState, ChildState, SessionState } from '../types/session-state.ts'

/** Returns the entry for a child that a composite starts. */
export function spawnedEntry(
  state: SessionState,
  call: CallState,
  child: Pick<
    EntryOf<'child', 'spawned'>,
    'callId' | 'log' | 'agent' | 'where' | 'inputHash' | 'filter' | 'hash' | 'with'
  >,
  label: Label,
  grant: Grant | undefined,
): NewEntry {
  return newEntry(placeOf(state), `${child.callId}/spawned`, {
    type: 'child',
    op: 'spawned',
    ...child,
    parentCallId: call.part.callId,
    ...(grant && { grant }),
    label,
  })
}

/** Returns the entry for the end or a pause of a child. The offset tells several pauses apart. */
export function joinedEntry(
  state: SessionState,
  child: Pick<ChildState, 'callId' | 'log'>,
  at: number,
  came: Omit<EntryOf<'child', 'joined'>, keyof EntryOf<'run', 'resumed'> | 'callId' | 'log'>,
): NewEntry {
  const id = came.status === 'suspended' ? `${child.callId}/paused/${at}` : `${child.callId}/joined`
  const { callId, log } = child
  return newEntry(placeOf(state), id, { type: 'child', op: 'joined', callId, log, ...came })
}

/** Returns the wait of a child, for callers that answer the runs above it. */
export function childWait(state: SessionState, callId: string, wait: EntryOf<'wait'>, child: SessionState): NewEntry {
  const { token, kind, reason, deadline, evidence, sticky, batch, schema, about: subject, approves } = wait
  const all = Object.values(pendingOn(child, [wait])).flat()
  const [about] = all
  return newEntry(placeOf(state), token, {
    type: 'wait',
    token,
    kind,
    ...(wait.callId !== undefined && { callId: wait.callId }),
    ...(reason !== undefined && { reason }),
    ...(deadline !== undefined && { deadline }),
    ...(evidence !== undefined && { evidence }),
    ...(sticky && { sticky }),
    ...(batch !== undefined && { batch }),
    ...(schema && { schema }),
    ...(subject && { about: subject }),
    ...(approves && { approves }),
    child: {
      callId,
      toolName: about?.toolName ?? '',
      input: about && 'input' in about ? about.input : null,
      agent: about?.agent ?? wait.agent,
      runPath: about?.runPath ?? [callId],
      ...(about && 'startedAt' in about && { startedAt: about.startedAt }),
    },
  })
}
