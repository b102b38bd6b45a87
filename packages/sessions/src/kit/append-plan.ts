import type { NewEntry } from '@provost/core'

import { wrongOffset } from './store-error.ts'

/** The new and the known entries of an append. */
export interface AppendPlan {
  /** Entries that the log does not have; the first of them goes after `tail`. */
  readonly fresh: readonly NewEntry[]
  /** Offsets of entries that the log has, one for each known id of the append. */
  readonly known: readonly number[]
}

/** The offsets of the ids of a log: a Map, or an equivalent index. */
export interface KnownIds {
  readonly size: number
  /** Returns the offset of an id; undefined for an unknown id. */
  get(id: string): number | undefined
  /** Adds an id that the log does not have yet. */
  set(id: string, offset: number): unknown
}

const none: readonly number[] = []
const few = 4

/**
 * Separates the new entries of an append from the known ones. It asserts that the log ends at `after`, apart from entries
 * that this append repeats. It changes nothing itself. The store then writes `fresh` from offset `tail + 1` on, all or none of
 * them. It returns the stored entries at the offsets `known` as `existing`.
 *
 * @param log name of the log, for the error.
 * @param ids ids of all entries of the log. {@link addFresh} adds those of new entries.
 * @param tail last offset of the log; 0 for an empty one.
 * @param after offset that the append names.
 * @throws ProvostError `wrong-offset`
 *
 * @example
 * const { fresh, known } = planAppend(log, entries, ids, stored.length, after)
 * addFresh(fresh, ids, stored.length)
 * stored.push(...fresh.map((entry, n) => ({ ...entry, offset: stored.length + n + 1 })))
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

/** Whether all entries of a short append are new, as nearly always. Long appends are not checked here. */
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

/** Adds the ids of the entries that were written after `tail`. */
export function addFresh(fresh: readonly NewEntry[], ids: Pick<KnownIds, 'set'>, tail: number): void {
  let offset = tail
  for (const { id } of fresh) ids.set(id, ++offset)
}
