import type { NewEntry } from '@provost/core'
import { isRecord, toJson } from '@provost/core'

import { takenEntry } from '../entries/wait-entries.ts'
import { placeOf } from '../state/entry.ts'
import type { SessionState } from '../types/session-state.ts'
import type { AbortOptions } from '../types/stream.ts'

/** Prefix of the tokens of aborts. */
export const abortToken = 'abort/'

/** Returns the entry for a taken abort. It has the options, so that a later process can carry the abort out. */
export function takenAbort(state: SessionState, token: string, options: AbortOptions): NewEntry {
  return takenEntry(placeOf(state), token, 'inbox', toJson({ ...options }))
}

/** Returns the aborts that the log records as taken, and that no process has carried out, oldest first. */
export function abortsLeft({ entries, run }: SessionState): readonly AbortOptions[] {
  const left: AbortOptions[] = []
  /** Whether the entries are before the last pause. */
  let isBefore = false
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index]
    if (entry?.runId !== run?.id) continue
    if (entry?.type === 'run') {
      if (entry.op === 'ended' || entry.op === 'started') break
      // A run that yields is continued elsewhere at once. What preceded an earlier pause was carried out when it was resumed.
      if (entry.op === 'suspended' && !entry.yielded) {
        if (isBefore) break
        isBefore = true
      }
    }
    // An entry of an earlier release has no options: its process may have carried the abort out.
    if (entry?.type !== 'resolved' || !entry.token.startsWith(abortToken) || !isRecord(entry.value)) continue
    const options = abortOptions(entry.value.data)
    // The run paused because of the abort, or before it saw it.
    if (!isBefore || options.onPendingApprovals !== 'hold') left.push(options)
  }
  return left.toReversed()
}

/** Returns the options of an abort that another process has written. */
export function abortOptions(value: unknown): AbortOptions {
  if (!isRecord(value)) return {}
  const { drain, graceMs, onPendingApprovals: policy } = value
  return {
    ...(drain === true && { drain }),
    ...(typeof graceMs === 'number' && { graceMs }),
    ...((policy === 'deny' || policy === 'hold' || policy === 'fail') && { onPendingApprovals: policy }),
  }
}
