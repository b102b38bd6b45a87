/**
 * Returns a function that makes a value at its first call, and returns the same value from then on. For what is costly
 * to make and rarely needed, such as a schema: an import of the module does not pay for it.
 *
 * @param make is called once.
 *
 * @example
 * const input = lazily(() => z.object({ path: z.string() }))
 * input().parse(given)
 */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
