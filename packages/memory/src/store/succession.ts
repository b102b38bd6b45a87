import type { NewItem, StoredItem } from '../items/item.ts'

/** What becomes of an item and of those whose place it takes. */
export interface Succession {
  readonly item: NewItem
  /** Items that are old from now on, by number, and until when they held. */
  readonly ended: readonly { readonly no: number; readonly validTo: number }[]
}

/** @param rivals live items of the same scope, kind and key, and the one that it replaces. */
export function succeed(item: NewItem, rivals: readonly StoredItem[]): Succession {
  if (item.state !== 'live') return { item, ended: [] }
  // What is said to replace it does; else whatever holds since later stays.
  const later = rivals.find(({ id, validFrom }) => id !== item.replaces && validFrom > item.validFrom)
  if (later) {
    const validTo = Math.min(later.validFrom, item.validTo ?? later.validFrom)
    return { item: { ...item, state: 'old', validTo, supersededBy: later.id }, ended: [] }
  }
  const ended = rivals.map(({ no, validFrom, validTo }) => ({
    no,
    validTo: Math.max(validFrom, Math.min(item.validFrom, validTo ?? item.validFrom)),
  }))
  return { item, ended }
}
