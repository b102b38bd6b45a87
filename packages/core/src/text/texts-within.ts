/** What holds no more than this is looked through; all else counts as anything. */
const deepest = 100

/**
 * Whether any text in a value is one that is looked for: also where only an inspector shows it, as in symbols, in fields
 * that are not enumerable or inherited, in functions, and in the errors of an AggregateError. What is too deep to see
 * counts as found.
 */
export function someTextIn(value: unknown, found: (text: string) => boolean): boolean {
  return within(value, found, new Set(), 0)
}

function within(value: unknown, found: (text: string) => boolean, seen: Set<object>, depth: number): boolean {
  switch (typeof value) {
    case 'string':
      return found(value)
    case 'number':
    case 'bigint':
      return found(String(value))
    case 'symbol':
      return found(value.description ?? '')
    case 'object':
    case 'function':
      if (value === null || seen.has(value)) return false
      if (depth > deepest) return true
      seen.add(value)
      return [...insidesOf(value)].some((inside) => within(inside, found, seen, depth + 1))
    default:
      return false
  }
}

function* insidesOf(value: object): Iterable<unknown> {
  // Bytes are no text, and each would be a number.
  if (ArrayBuffer.isView(value)) return
  if (value instanceof Map || value instanceof Set || value instanceof Headers) yield* value
  else if (value instanceof Date || value instanceof URL || value instanceof URLSearchParams) yield String(value)
  else if (value instanceof RegExp) yield value.source
  else if (Object.prototype.toString.call(value) === '[object String]') yield Object.values(value).join('')
  else if (value instanceof Request || value instanceof Response) yield* [value.url, value.headers]
  for (const key of Reflect.ownKeys(value)) {
    yield key
    // What has to be computed is not there yet.
    yield Object.getOwnPropertyDescriptor(value, key)?.value
  }
  const above: unknown = Object.getPrototypeOf(value)
  if (typeof above === 'object' && above !== null && !isBuiltIn(above)) yield above
}

/** What everybody's objects stand on says nothing of any. */
function isBuiltIn(above: object): boolean {
  return typeof Object.getOwnPropertyDescriptor(above, 'constructor')?.value === 'function'
}
