import type { NewEntry } from '@provost/core'

import { applyEntry } from './fold.ts'
import type { LogState } from './log-state.ts'
import { offsetOf } from './log-state.ts'
import type { LoopAnswers, LoopAsks } from './loop-asks.ts'

/** A generator's `next` cannot tie an answer to its question: the handlers of `drive` do, and this says so. */
export function answerTo<K extends keyof LoopAsks>(_ask: K, answer: LoopAnswers[keyof LoopAnswers]): LoopAnswers[K] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return answer as LoopAnswers[K]
}

/** Brings the state up to date, unless the driver has a log of its own and did. */
export function applied(state: LogState, entries: readonly NewEntry[], answer: LoopAnswers[keyof LoopAnswers]): void {
  const { offset } = answerTo('append', answer)
  let at = offset - entries.length
  if (offsetOf(state) < offset) for (const entry of entries) applyEntry(state, { ...entry, offset: ++at })
}
