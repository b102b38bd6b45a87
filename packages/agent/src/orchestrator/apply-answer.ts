import type { NewEntry } from '@provost/core'

import { reduceEntry } from '../reducers/reducer.ts'
import { offsetOf } from '../state/session-state.ts'
import type { LoopAnswers, LoopAsks } from '../types/loop.ts'
import type { SessionState } from '../types/session-state.ts'

/** A generator's `next` cannot tie an answer to its question: the handlers of `drive` do, and this says so. */
export function answerTo<K extends keyof LoopAsks>(_ask: K, answer: LoopAnswers[keyof LoopAnswers]): LoopAnswers[K] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return answer as LoopAnswers[K]
}

/** Brings the state up to date, unless the driver has a log of its own and did. */
export function applied(
  state: SessionState,
  entries: readonly NewEntry[],
  answer: LoopAnswers[keyof LoopAnswers],
): void {
  const { offset } = answerTo('append', answer)
  let at = offset - entries.length
  if (offsetOf(state) < offset) for (const entry of entries) reduceEntry(state, { ...entry, offset: ++at })
}
