import { isRecord } from '@provost/core'

import { enter, leave, spend } from './schema-work.ts'
import type { Work } from './schema-work.ts'

/** The same text for equal JSON and for no other: objects are equal whatever the order of their keys. */
export function identityOf(value: unknown, work: Work): string {
  spend(work, 1)
  if (typeof value === 'string') {
    spend(work, value.length / 16)
    return JSON.stringify(value)
  }
  if (typeof value !== 'object' || value === null) return String(value)
  enter(work)
  const identity = Array.isArray(value)
    ? `[${value.map((item) => identityOf(item, work)).join(',')}]`
    : `{${fieldsOf(value, work).join(',')}}`
  leave(work)
  return identity
}

function fieldsOf(value: object, work: Work): readonly string[] {
  if (!isRecord(value)) return []
  const keys = Object.keys(value).toSorted()
  spend(work, keys.length)
  return keys.map((key) => `${JSON.stringify(key)}:${identityOf(value[key], work)}`)
}

const known = new WeakMap<readonly unknown[], ReadonlySet<string>>()

/** Whether a list of a schema has a value. The list is read once. */
export function isAmong(value: unknown, list: readonly unknown[], work: Work): boolean {
  let identities = known.get(list)
  if (!identities) {
    // In proportion to the schema, and not to be paid again by the next value.
    const free: Work = { left: Number.POSITIVE_INFINITY, depth: 0, unsure: false }
    identities = new Set(list.map((one) => identityOf(one, free)))
    known.set(list, identities)
  }
  return identities.has(identityOf(value, work))
}

/** Whether two values are the same JSON. */
export function isSame(one: unknown, other: unknown, work: Work): boolean {
  if (typeof one !== 'object' || one === null) return one === other
  return typeof other === 'object' && other !== null && identityOf(one, work) === identityOf(other, work)
}

/** The place of the first item that stands in a list a second time, or -1. */
export function repeatedIn(list: readonly unknown[], work: Work): number {
  const identities = new Set<string>()
  return list.findIndex((item) => {
    const identity = identityOf(item, work)
    return identities.size === identities.add(identity).size
  })
}
