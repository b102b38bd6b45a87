/**
 * An append-only list for folds. Appending copies nothing, and the shorter list stays unchanged. Lists that share their
 * items each consist of the first `length` of them.
 */
export interface AppendOnlyList<T> {
  readonly length: number
  readonly items: readonly T[]
}

/** Returns an empty list. */
export const emptyList: AppendOnlyList<never> = Object.freeze({ length: 0, items: Object.freeze([]) })

/** Only the longest list may write to the shared items: all others take a copy. */
const owned = new WeakMap<object, unknown[]>()

/** Returns the list with one more item at its end. */
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

/** Indexes of keys in lists that share their items. */
const places = new WeakMap<object, { read: number; readonly at: Map<string, number> }>()

/** Returns the first index of a key in a list of keys; undefined where it is absent. Needs no search. */
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
