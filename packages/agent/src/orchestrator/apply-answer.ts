import type { NewEntry } from '@provost/core'

import { reduceEntry } from '../reducers/reducer.ts'
import { offsetOf } from '../state/session-state.ts'
import type { LoopAnswers, LoopAsks } from '../types/loop.ts'
import type { SessionState } from '../types/session-state.ts'

/** Narrows an answer to the type of its ask. A generator's `next` cannot express this; the handlers of `drive` ensure it. */
export function narrowAnswer<K extends keyof LoopAsks>(
  _ask: K,
  answer: LoopAnswers[keyof LoopAnswers],
): LoopAnswers[K] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return answer as LoopAnswers[K]
}

/** Applies entries to the state, unless a driver that owns the log has already applied them. */
export function applied(
  state: SessionState,
  entries: readonly NewEntry[],
  answer: LoopAnswers[keyof LoopAnswers],
): void {
  const { offset } = narrowAnswer('append', answer)
  let at = offset - entries.length
  if (offsetOf(state) < offset) for (const entry of entries) reduceEntry(state, { ...entry, offset: ++at })
}
