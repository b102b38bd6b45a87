import type { Fold, Steps } from '@provost/core'
import { finish } from '@provost/core'

import type { SessionState } from '../types/session-state.ts'

/** A fold and its current value. */
interface FoldCache {
  readonly fold: Fold<unknown>
  at: number
  value: unknown
  /** The paused update, if one is in progress. */
  work: Steps<void> | undefined
}

/** Values of folds by session, so that the next run does not read the whole log again. */
const folded = new WeakMap<SessionState, Map<string, FoldCache>>()

function foldedBy<S>(state: SessionState, fold: Fold<S>): FoldCache {
  const folds = folded.get(state) ?? new Map<string, FoldCache>()
  folded.set(state, folds)
  const known = folds.get(fold.key)
  if (known?.fold === fold) return known
  const fresh: FoldCache = { fold, at: 0, value: fold.initial, work: undefined }
  folds.set(fold.key, fresh)
  return fresh
}

/** Returns the current value of a fold, updated in one go. */
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

/** Returns the current value of a fold, updated in steps. Concurrent callers share the same work. */
export function* foldInSteps<S>(state: SessionState, fold: Fold<S>): Steps<S> {
  const known = foldedBy(state, fold)
  while (known.work || known.at < state.entries.length) {
    const work = (known.work ??= applyNewEntries(state, known))
    yield* going(known, work)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by this very fold, so it is of its type
  return known.value as S
}

function* applyNewEntries({ entries }: SessionState, known: FoldCache): Steps<void> {
  const { fold } = known
  for (; known.at < entries.length; known.at++) {
    const entry = entries[known.at]
    if (!entry) continue
    known.value = fold.steps ? yield* fold.steps(known.value, entry) : fold.apply(known.value, entry)
  }
}

/** Continues shared work. Other callers may advance it between two steps. */
function* going(known: FoldCache, work: Steps<void>): Steps<void> {
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
