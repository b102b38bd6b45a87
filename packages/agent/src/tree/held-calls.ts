import type { EntryOf } from '@provost/core'

import type { RunTree } from '../types/run-tree.ts'
import type { CallState, SessionState } from '../types/session-state.ts'

/** Whether a call, or a child or a call within it, waits for an answer that can come after the process has ended. */
export function isHeld(state: SessionState, { childLogs }: RunTree, { stage, part }: CallState): boolean {
  if (heldStages.has(stage)) return true
  if (stage !== 'started') return false
  // The ids of everything within a call begin with its id.
  return [state, ...childLogs.values()].some(({ waits }) =>
    [...waits].some(([token, wait]) => outlivesProcess(wait) && token.startsWith(`${part.callId}/`)),
  )
}

const heldStages: ReadonlySet<CallState['stage']> = new Set(['waiting', 'parked', 'deferred', 'delivered', 'resumable'])

/** The question of a running tool ends with the tool. */
function outlivesProcess({ kind, parks }: EntryOf<'wait'>): boolean {
  return kind !== 'input' || parks === true
}
