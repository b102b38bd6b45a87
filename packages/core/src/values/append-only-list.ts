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
