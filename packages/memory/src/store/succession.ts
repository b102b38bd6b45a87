import type { NewItem, StoredItem } from '../items/item.ts'

/** A new item, and the items that it supersedes. */
export interface Succession {
  readonly item: NewItem
  /** Superseded items, by number, and the end of their validity. */
  readonly ended: readonly { readonly no: number; readonly validTo: number }[]
}

/** @param rivals live items of the same scope, kind and key, and the one that it replaces. */
export function succeed(item: NewItem, rivals: readonly StoredItem[]): Succession {
  if (item.state !== 'live') return { item, ended: [] }
  // An explicit replacement always applies. Otherwise the item with the later start of validity stays live.
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
