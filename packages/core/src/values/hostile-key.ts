/** What may be in data from outside. */
export interface KeyLimits {
  /** Keys under which values of tools and models stand: any key but `__proto__` is data there. */
  readonly data: ReadonlySet<string>
  /** How deep values may be nested; default as deep as they come. */
  readonly maxDepth?: number
}

/**
 * Looks for keys that would change prototypes, were the value merged into another one.
 *
 * @returns what is wrong, such as `a key named __proto__`; undefined where nothing is.
 */
export function hostileKeyIn(root: unknown, limits: KeyLimits): string | undefined {
  const { data: foreign, maxDepth = Number.POSITIVE_INFINITY } = limits
  // A stack of its own: a text can be nested deeper than calls can.
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
