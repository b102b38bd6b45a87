import type { ErrorInfo, ErrorSource, Json, Manifest, Message, NewEntry } from '@provost/core'
import { positionId } from '@provost/core'

import { answerJson } from '../prompt/structured-output.ts'
import { newEntry, placeOf } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { FinalFailure } from '../types/loop.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'

/** Returns the entry that suspends the run; a process with the log can resume it. */
export function suspendedEntry(state: SessionState): NewEntry {
  const place = placeOf(state)
  // A run may pause more than once in a step: the offset tells the pauses apart.
  return newEntry(place, positionId(place.runId, place.step, 'suspended', state.offset), {
    type: 'run',
    op: 'suspended',
  })
}

/** Returns the entry that suspends the run at a step boundary to make room for others. */
export function yieldedEntry(state: SessionState): NewEntry {
  const place = placeOf(state)
  const id = positionId(place.runId, place.step, 'suspended', state.offset)
  return newEntry(place, id, { type: 'run', op: 'suspended', yielded: true })
}

/**
 * Returns the entry that resumes the run.
 *
 * @param manifest of the code, where it changed.
 */
export function resumedEntry(state: SessionState, manifest?: Manifest): NewEntry {
  const place = placeOf(state)
  const id = positionId(place.runId, place.step, 'resumed', state.offset)
  return newEntry(place, id, { type: 'run', op: 'resumed', ...(manifest && { manifest }) })
}

/**
 * Returns the entry that ends a run, with its output.
 *
 * @param source what failed. Absent: the runtime itself ends the run.
 */
export function endedEntry(
  state: SessionState,
  agent: ResolvedAgent,
  status: 'completed' | 'failed' | 'aborted',
  error?: ErrorInfo,
  place: EntryContext = placeOf(state),
  source?: ErrorSource,
): NewEntry {
  const answer = status === 'completed' ? state.run?.answer : undefined
  const output: Json | undefined = answer && answerJson(agent, answer)
  return newEntry(place, positionId(place.runId, place.step, 'ended', state.offset), {
    type: 'run',
    op: 'ended',
    status,
    ...(output !== undefined && { output }),
    ...(error && { error }),
    ...(source && { source }),
  })
}

/** Returns the entries for a final failure of the model: the partial message, and the end of the run. */
export function failureEntries(
  state: SessionState,
  agent: ResolvedAgent,
  place: EntryContext,
  failure: FinalFailure,
): NewEntry[] {
  return [
    closingMessage(place, 'error', failure.partial, failure.error, failure.attempt),
    endedEntry(state, agent, 'failed', failure.error, place, { kind: 'model', name: failure.model }),
  ]
}

/**
 * Returns the message that closes an incomplete run: partial content stays, calls without a result are removed.
 *
 * @param attempt of the model that failed. Without it, the run is ended from outside.
 */
export function closingMessage(
  place: EntryContext,
  role: 'error' | 'aborted',
  partial: Message | undefined,
  error?: ErrorInfo,
  attempt?: number,
): NewEntry {
  const id = partial?.id ?? positionId(place.runId, place.step, 'message', attempt ?? role)
  const content = (partial?.content ?? []).filter(({ type }) => type !== 'tool-call' && type !== 'tool-result')
  return newEntry(place, id, {
    type: 'message',
    message: {
      id,
      role,
      content,
      ...(partial?.label && { label: partial.label }),
      agent: place.agent,
      createdAt: place.clock.now(),
      ...(error && { error }),
      ...(content.length > 0 && { partial: true }),
      ...(attempt === undefined && { purpose: 'closing' }),
    },
    via: 'model',
  })
}
