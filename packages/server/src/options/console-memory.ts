import type { Label } from '@provost/core'

/** An item of a memory, as the console shows it. Items of `createMemory` have this shape. */
export interface ConsoleMemoryItem {
  readonly id: string
  readonly text: string
  readonly kind: string
  /** Whose it is. */
  readonly scope: { readonly kind: string; readonly id?: string }
  readonly label: Label
  /** What it was made from: a document, a system, a person or a session. */
  readonly source: string
  /** Milliseconds since 1970 at which it was stored. */
  readonly at: number
  readonly validTo?: number
  readonly key?: string
  readonly replaces?: string
  readonly supersededBy?: string
  /** It is untrusted, and not recalled until it is confirmed. */
  readonly quarantined?: true
  readonly confirmedBy?: string
  /** The session of the message that it repeats. */
  readonly sessionId?: string
  readonly speaker?: string
}

/** A memory that operators see and forget items of in the console: the one that `memory()` returns, or your own. */
export interface ConsoleMemory {
  /** Returns items that a session may recall, in the order in which they were stored. */
  list(options: {
    readonly principal?: { readonly id: string }
    readonly sessionId: string
    readonly agent: string
    readonly states: readonly ('live' | 'quarantined' | 'old')[]
    /** Id of the item before the first one. */
    readonly after?: string
    readonly limit: number
  }): Promise<readonly ConsoleMemoryItem[]>
  /** Returns an item; undefined for an unknown id. */
  explain(id: string): Promise<{ readonly item: ConsoleMemoryItem } | undefined>
  /** Removes an item. @returns the number of removed items. */
  forget(id: string): Promise<number>
}
