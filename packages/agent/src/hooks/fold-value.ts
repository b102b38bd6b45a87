import type { Fold, Steps } from '@provost/core'
import { finish } from '@provost/core'

import type { SessionState } from '../types/session-state.ts'

/** A fold as far as it has come. */
interface Folded {
  readonly fold: Fold<unknown>
  at: number
  value: unknown
  /** Brings it up to date, where that was begun and paused. */
  work: Steps<void> | undefined
}

/** What folds have come to: a session's next run goes on from there, and does not read the whole log again. */
const folded = new WeakMap<SessionState, Map<string, Folded>>()

function foldedBy<S>(state: SessionState, fold: Fold<S>): Folded {
  const folds = folded.get(state) ?? new Map<string, Folded>()
  folded.set(state, folds)
  const known = folds.get(fold.key)
  if (known?.fold === fold) return known
  const fresh: Folded = { fold, at: 0, value: fold.initial, work: undefined }
  folds.set(fold.key, fresh)
  return fresh
}

/** What a fold has come to, brought up to date at once. */
export function foldNow<S>(state: SessionState, fold: Fold<S>): S {
  const { entries } = state
  const known = foldedBy(state, fold)
  if (known.work) finish(going(known, known.work))
  for (; known.at < entries.length; known.at++) {
    const entry = entries[known.at]
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by this very fold, so it is of its type
    if (entry) known.value = fold.apply(known.value as S, entry)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same
  return known.value as S
}

/** The same in steps. Whoever asks meanwhile goes on with the same work. */
export function* foldInSteps<S>(state: SessionState, fold: Fold<S>): Steps<S> {
  const known = foldedBy(state, fold)
  while (known.work || known.at < state.entries.length) {
    const work = (known.work ??= bringUp(state, known))
    yield* going(known, work)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by this very fold, so it is of its type
  return known.value as S
}

function* bringUp({ entries }: SessionState, known: Folded): Steps<void> {
  const { fold } = known
  for (; known.at < entries.length; known.at++) {
    const entry = entries[known.at]
    if (!entry) continue
    known.value = fold.steps ? yield* fold.steps(known.value, entry) : fold.apply(known.value, entry)
  }
}

/** Goes on with work that others may go on with between two steps. */
function* going(known: Folded, work: Steps<void>): Steps<void> {
  try {
    while (known.work === work) {
      if (work.next().done) known.work = undefined
      else yield
    }
  } catch (thrown) {
    known.work = undefined
    throw thrown
  }
}
