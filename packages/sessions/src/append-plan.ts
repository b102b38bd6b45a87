import type { NewEntry } from '@provost/core'

import { wrongOffset } from './store-error.ts'

/** What an append has to do. */
export interface AppendPlan {
  /** What the log does not have; the first of them goes behind `tail`. */
  readonly fresh: readonly NewEntry[]
  /** Offsets of what it has, one for each known id of the append. */
  readonly known: readonly number[]
}

/**
 * Sorts what a log has from what it lacks, and asserts that the writer knows the log: it stands at `after`, but for
 * entries that this very append brings again.
 *
 * @param ids of the log, with their offsets; the fresh ones are added.
 * @param tail the last offset of the log.
 * @throws ProvostError `wrong-offset`; `ids` is as before then.
 */
export function planAppend(
  log: string,
  entries: readonly NewEntry[],
  ids: Map<string, number>,
  tail: number,
  after: number,
): AppendPlan {
  const fresh: NewEntry[] = []
  const known: number[] = []
  let adopted = 0
  for (const entry of entries) {
    const offset = ids.get(entry.id)
    if (offset === undefined) {
      fresh.push(entry)
      ids.set(entry.id, tail + fresh.length)
    } else if (offset <= tail) {
      known.push(offset)
      if (offset > after) adopted++
    }
  }
  if (fresh.length > 0 && tail !== after + adopted) {
    forget(fresh, ids)
    throw wrongOffset(log, tail, after)
  }
  return { fresh, known }
}

/** Takes back the ids of entries that could not be written. */
export function forget(fresh: readonly NewEntry[], ids: Map<string, number>): void {
  for (const { id } of fresh) ids.delete(id)
}
