import { isRecord } from '@provost/core'
import type { JsonPointer, JsonSchema } from '@provost/core'

/**
 * Returns whether a value of this schema can have something at a pointer. An open schema allows it; an object with
 * named properties is closed unless it states otherwise.
 */
export function mayHave(schema: JsonSchema, pointer: JsonPointer): boolean {
  const segments = pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  return leads(schema, segments, { root: schema, seen: segments.map(() => new Set()) })
}

interface Search {
  readonly root: JsonSchema
  /** Visited schemas by the number of remaining segments, so that recursive references end. */
  readonly seen: readonly Set<object>[]
}

function leads(schema: unknown, segments: readonly string[], search: Search): boolean {
  const [segment, ...rest] = segments
  if (segment === undefined) return true
  if (!isRecord(schema)) return schema !== false
  const seen = search.seen[rest.length]
  if (seen?.has(schema)) return false
  seen?.add(schema)
  const { $ref } = schema
  if (typeof $ref === 'string') return leads(referred($ref, search.root), segments, search)
  const branches = [schema['anyOf'], schema['oneOf'], schema['allOf']].flatMap((list): unknown[] =>
    Array.isArray(list) ? list : [],
  )
  if (branches.some((branch) => leads(branch, segments, search))) return true
  const below = (item: unknown): boolean => leads(item, rest, search)
  const { properties, items, prefixItems, type } = schema
  if (isRecord(properties) && Object.hasOwn(properties, segment)) return below(properties[segment])
  if (isRecord(schema['patternProperties'])) return true
  const more = schema['additionalProperties']
  if (isRecord(more) || more === true) return below(more)
  if (items !== undefined || prefixItems !== undefined || isType(type, 'array')) {
    return /^\d+$/.test(segment) && below(itemAt(Number(segment), items, prefixItems))
  }
  if (isRecord(properties) || more === false) return false
  return branches.length === 0 && (type === undefined || isType(type, 'object'))
}

function itemAt(index: number, items: unknown, prefixItems: unknown): unknown {
  const list: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : []
  return list[index] ?? items
}

function isType(type: unknown, name: string): boolean {
  return type === name || (Array.isArray(type) && type.includes(name))
}

/**
 * Returns the target of a reference within the schema, or `undefined`, which allows everything, for other references.
 */
function referred(reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith('#')) return undefined
  let at: unknown = root
  for (const segment of reference.slice(1).split('/').slice(1)) {
    at = isRecord(at) ? at[segment.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined
  }
  return at
}
