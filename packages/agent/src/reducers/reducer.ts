import type { Entry, Json } from '@provost/core'
import { assertNever, isForkMark, isRecord, overridesIn } from '@provost/core'

import { addBytes, bytesOfEntry } from '../state/byte-count.ts'
import { emptySessionState } from '../state/session-state.ts'
import { addAttempt } from '../state/usage.ts'
import type { RunBytes, SessionState } from '../types/session-state.ts'
import { applyCall } from './call-reducer.ts'
import { applyChild } from './child-reducer.ts'
import { recordCompositeAnswer } from './composite-reducer.ts'
import { applyMessage } from './message-reducer.ts'
import { applyAttempt, applyRun, applyStepBegin } from './run-reducer.ts'
import { applyHandoff, applyView } from './view-reducer.ts'
import { applyResolved, applyWait } from './wait-reducer.ts'

function forkedFromIn(data: Json): string | undefined {
  const id = isRecord(data) ? data['sessionId'] : undefined
  return typeof id === 'string' ? id : undefined
}

/** Returns the state after all entries of a log. */
export function foldLog(entries: Iterable<Entry>): SessionState {
  const state = emptySessionState()
  for (const entry of entries) reduceEntry(state, entry)
  return state
}

/**
 * Updates a state with one more entry.
 *
 * @param bytes that the entry adds to the run, if known.
 */
export function reduceEntry(state: SessionState, entry: Entry, bytes: RunBytes = bytesOfEntry(entry)): void {
  state.entries.push(entry)
  state.offset = entry.offset
  state.completedMessage = undefined
  const { run } = state
  switch (entry.type) {
    case 'run':
      applyRun(state, entry)
      break
    case 'message':
      applyMessage(state, entry)
      break
    case 'attempt':
      if (run) applyAttempt(run, entry)
      else addAttempt(state.earlier, entry)
      break
    case 'call':
      if (run) applyCall(state, run, entry)
      break
    case 'wait':
      if (run) applyWait(state, run, entry)
      state.waits.set(entry.token, entry)
      break
    case 'resolved':
      applyResolved(state, entry)
      break
    case 'view':
      applyView(state, entry)
      break
    case 'memo':
      state.memos.set(entry.key, entry.value)
      if (run && entry.callId !== undefined) recordCompositeAnswer(run, entry.callId, entry.key)
      break
    case 'tail':
      if (run) applyStepBegin(run, entry)
      if (run && entry.with) run.ephemeralMessages.push(...entry.with)
      break
    case 'handoff':
      applyHandoff(state, entry)
      break
    case 'child':
      if (run) applyChild(state, run, entry)
      break
    case 'ext':
      // The first mark is that of the first fork: a fork of a fork has both.
      if (isForkMark(entry)) {
        state.forkedFrom ??= forkedFromIn(entry.data)
        // Each fork repeats those of its original.
        state.overrides = overridesIn(entry.data)
      }
      break
    case 'audit':
      break
    default:
      assertNever(entry)
  }
  if (state.run) state.run.bytes = addBytes(state.run.bytes, bytes)
}
