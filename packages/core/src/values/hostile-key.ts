/** What data from outside may contain. */
export interface KeyLimits {
  /** Keys that contain values of tools and models: there, any key but `__proto__` is data. */
  readonly data: ReadonlySet<string>
  /** How deep values may be nested. Default: no limit. */
  readonly maxDepth?: number
}

/**
 * Finds keys that would change prototypes if the value were merged into another one.
 *
 * @returns the problem, such as `a key named __proto__`; undefined where there is none.
 */
export function hostileKeyIn(root: unknown, limits: KeyLimits): string | undefined {
  const { data: foreign, maxDepth = Number.POSITIVE_INFINITY } = limits
  // An explicit stack, because a text can be nested deeper than the call stack.
  const open = [{ value: root, data: false, depth: 1 }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, data, depth } = next
    if (typeof value !== 'object' || value === null) continue
    if (depth > maxDepth) return `values nested deeper than ${maxDepth}`
    for (const key of Object.keys(value)) {
      if (key === '__proto__' || (!data && (key === 'prototype' || key === 'constructor'))) return `a key named ${key}`
      open.push({ value: Reflect.get(value, key), data: data || foreign.has(key), depth: depth + 1 })
    }
  }
  return undefined
}
