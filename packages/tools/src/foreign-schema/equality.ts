import { isRecord } from '@provost/core'

import { enter, leave, spend } from './schema-work.ts'
import type { Work } from './schema-work.ts'

/** Returns a text that is equal exactly for equal JSON, whatever the order of keys. */
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

/** Returns whether a list of a schema contains a value. The list is indexed once. */
export function isAmong(value: unknown, list: readonly unknown[], work: Work): boolean {
  let identities = known.get(list)
  if (!identities) {
    // In proportion to the schema, and not to be paid again by the next value.
    const free: Work = { remaining: Number.POSITIVE_INFINITY, depth: 0, unsure: false }
    identities = new Set(list.map((one) => identityOf(one, free)))
    known.set(list, identities)
  }
  return identities.has(identityOf(value, work))
}

/** Returns whether two values are the same JSON. */
export function isSame(one: unknown, other: unknown, work: Work): boolean {
  if (typeof one !== 'object' || one === null) return one === other
  return typeof other === 'object' && other !== null && identityOf(one, work) === identityOf(other, work)
}

/** Returns the index of the first repeated item of a list, or -1. */
export function repeatedIn(list: readonly unknown[], work: Work): number {
  const identities = new Set<string>()
  return list.findIndex((item) => {
    const identity = identityOf(item, work)
    return identities.size === identities.add(identity).size
  })
}
