import { textOf } from './unescaped.ts'

/** The depth up to which a value is searched; a deeper one counts as a match. */
const deepest = 100

/**
 * Returns whether any text in a value matches, also where only an inspector shows it: in symbols, in fields that are not
 * enumerable or are inherited, in functions, in bytes, and in the errors of an AggregateError. A value nested too deeply
 * counts as a match.
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
    case 'boolean':
    case 'undefined':
      return false
  }
}

function* insidesOf(value: object): Iterable<unknown> {
  // Each number of a view would count as a text.
  if (ArrayBuffer.isView(value)) {
    if (value instanceof Uint8Array) yield textOf(value)
    return
  }
  if (value instanceof Map || value instanceof Set || value instanceof Headers) yield* value
  else if (value instanceof Date || value instanceof URL || value instanceof URLSearchParams) yield String(value)
  else if (value instanceof RegExp) yield value.source
  else if (Object.prototype.toString.call(value) === '[object String]') yield Object.values(value).join('')
  else if (value instanceof Request || value instanceof Response) yield* [value.url, value.headers]
  for (const key of Reflect.ownKeys(value)) {
    yield key
    // Getters are skipped, because their value does not exist yet.
    yield Object.getOwnPropertyDescriptor(value, key)?.value
  }
  const above: unknown = Object.getPrototypeOf(value)
  if (typeof above === 'object' && above !== null && !isBuiltIn(above)) yield above
}

/** Skips built-in prototypes, which all objects share. */
function isBuiltIn(above: object): boolean {
  return typeof Object.getOwnPropertyDescriptor(above, 'constructor')?.value === 'function'
}
