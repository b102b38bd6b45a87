import type { NewEntry } from '@provost/core'

import { wrongOffset } from './store-error.ts'

/** What an append has to do. */
export interface AppendPlan {
  /** What the log does not have; the first of them goes behind `tail`. */
  readonly fresh: readonly NewEntry[]
  /** Offsets of what it has, one for each known id of the append. */
  readonly known: readonly number[]
}

/** Where the ids of a log stand: a Map, or what is like one. */
export interface KnownIds {
  readonly size: number
  /** The offset of an id; undefined where the log does not have it. */
  get(id: string): number | undefined
  /** Takes in an id that the log does not have yet. */
  set(id: string, offset: number): unknown
}

const none: readonly number[] = []
const few = 4

/**
 * Sorts what a log has from what it lacks, and asserts that the writer knows the log: it stands at `after`, but for
 * entries that this very append brings again.
 *
 * @param ids of the log. Those of fresh entries are not in it before {@link addFresh} is called.
 * @param tail the last offset of the log.
 * @throws ProvostError `wrong-offset`
 */
export function planAppend(
  log: string,
  entries: readonly NewEntry[],
  ids: Pick<KnownIds, 'get'>,
  tail: number,
  after: number,
): AppendPlan {
  if (tail === after && areFresh(entries, ids)) return { fresh: entries, known: none }
  const fresh = new Map<string, NewEntry>()
  const known: number[] = []
  let adopted = 0
  for (const entry of entries) {
    const offset = ids.get(entry.id)
    if (offset === undefined) {
      if (!fresh.has(entry.id)) fresh.set(entry.id, entry)
    } else {
      known.push(offset)
      if (offset > after) adopted++
    }
  }
  if (fresh.size > 0 && tail !== after + adopted) throw wrongOffset(log, tail, after)
  return { fresh: [...fresh.values()], known }
}

/** As nearly all appends are: few entries, of which the log has none. Of many it is not asked here. */
function areFresh(entries: readonly NewEntry[], ids: Pick<KnownIds, 'get'>): boolean {
  if (entries.length > few) return false
  let at = 0
  for (const { id } of entries) {
    for (let before = 0; before < at; before++) if (entries[before]?.id === id) return false
    if (ids.get(id) !== undefined) return false
    at++
  }
  return true
}

/** Takes in the ids of what was written behind `tail`. */
export function addFresh(fresh: readonly NewEntry[], ids: Pick<KnownIds, 'set'>, tail: number): void {
  let offset = tail
  for (const { id } of fresh) ids.set(id, ++offset)
}
