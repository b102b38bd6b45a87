import { isRecord } from '@provost/core'

/** A part of a schema that is a schema itself. */
export interface Subschema {
  readonly path: readonly string[]
  readonly schema: unknown
}

/** Keywords with one schema, a list of schemas, or schemas under names; `items` may have one or a list. */
const places: ReadonlyMap<string, 'one' | 'list' | 'names'> = new Map([
  ...['additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'items', 'not', 'propertyNames', 'then'].map(
    (key) => [key, 'one'] as const,
  ),
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((key) => [key, 'list'] as const),
  ...['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'].map(
    (key) => [key, 'names'] as const,
  ),
])

/** Returns the direct subschemas of a schema. Other values of a keyword are ignored. */
export function subschemasOf(schema: Readonly<Record<string, unknown>>): readonly Subschema[] {
  const found: Subschema[] = []
  for (const key of Object.keys(schema)) {
    const place = places.get(key)
    const value = schema[key]
    if (place === undefined || typeof value !== 'object' || value === null) continue
    if (Array.isArray(value)) {
      if (place === 'names') continue
      for (const [index, one] of value.entries()) found.push({ path: [key, String(index)], schema: one })
    } else if (place === 'one') found.push({ path: [key], schema: value })
    else if (place === 'names' && isRecord(value))
      for (const name of Object.keys(value))
        if (!Array.isArray(value[name])) found.push({ path: [key, name], schema: value[name] })
  }
  return found
}

/** Returns an own field, since a schema may have the keys `__proto__` or `constructor`. */
export function ownOf(of: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(of, key) ? of[key] : undefined
}

/** Resolves local references of a schema. Each is resolved once. */
export interface References {
  /** Returns the schema, or undefined for a broken reference or one to another document. */
  find(reference: string): { readonly schema: unknown } | undefined
}

export function referencesOf(root: unknown): References {
  const found = new Map<string, { readonly schema: unknown } | undefined>()
  let anchors: ReadonlyMap<string, unknown> | undefined
  const look = (reference: string): { readonly schema: unknown } | undefined => {
    const id = isRecord(root) ? ownOf(root, '$id') : undefined
    const local = typeof id === 'string' && reference.startsWith(`${id}#`) ? reference.slice(id.length) : reference
    if (local === '#' || local === id) return { schema: root }
    if (local.startsWith('#/')) return pointed(root, local.slice(2))
    anchors ??= anchorsIn(root)
    return anchors.has(local) ? { schema: anchors.get(local) } : undefined
  }
  return {
    find(reference) {
      if (!found.has(reference)) found.set(reference, look(reference))
      return found.get(reference)
    },
  }
}

function pointed(root: unknown, pointer: string): { readonly schema: unknown } | undefined {
  let at = root
  for (const step of pointer.split('/')) {
    const key = unescaped(step)
    if (Array.isArray(at)) at = /^\d{1,9}$/.test(key) ? (at[Number(key)] as unknown) : undefined
    else at = isRecord(at) ? ownOf(at, key) : undefined
    if (at === undefined) return undefined
  }
  return { schema: at }
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return step
  }
}

function anchorsIn(root: unknown): ReadonlyMap<string, unknown> {
  const anchors = new Map<string, unknown>()
  const left: unknown[] = [root]
  while (left.length > 0) {
    const schema = left.pop()
    if (!isRecord(schema)) continue
    const { $anchor, $id } = schema
    if (typeof $anchor === 'string') anchors.set(`#${$anchor}`, schema)
    if (typeof $id === 'string' && $id.startsWith('#')) anchors.set($id, schema)
    for (const below of subschemasOf(schema)) left.push(below.schema)
  }
  return anchors
}
