/**
 * A list that only grows, for folds: one more costs no copy, and the shorter list stays what it was. Lists that grew from
 * one another share their items, of which each has the first `length`.
 */
export interface AppendOnlyList<T> {
  readonly length: number
  readonly items: readonly T[]
}

/** A list of nothing. */
export const emptyList: AppendOnlyList<never> = Object.freeze({ length: 0, items: Object.freeze([]) })

/** What is shared may be written to by the longest list alone: all others take a copy. */
const owned = new WeakMap<object, unknown[]>()

/** The list with one more item behind. */
export function append<T>({ length, items }: AppendOnlyList<T>, item: T): AppendOnlyList<T> {
  const known = items.length === length ? owned.get(items) : undefined
  if (known) {
    known.push(item)
    return { length: length + 1, items }
  }
  const copy = [...items.slice(0, length), item]
  owned.set(copy, copy)
  return { length: length + 1, items: copy }
}

/** Where keys stand in lists that share their items. */
const places = new WeakMap<object, { read: number; readonly at: Map<string, number> }>()

/** Where a key stands first in a list of keys; undefined where it does not. Costs no search. */
export function indexIn({ length, items }: AppendOnlyList<string>, key: string): number | undefined {
  const known = places.get(items) ?? { read: 0, at: new Map<string, number>() }
  places.set(items, known)
  for (; known.read < items.length; known.read++) {
    const one = items[known.read]
    if (one !== undefined && !known.at.has(one)) known.at.set(one, known.read)
  }
  const place = known.at.get(key)
  return place !== undefined && place < length ? place : undefined
}
