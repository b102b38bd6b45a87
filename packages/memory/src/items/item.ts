import type { KnownKeys, Label, LabelInit, Timestamp } from '@provost/core'
import { checkChoice, checkOptions, ProvostError } from '@provost/core'

/**
 * The kind of an item. A `block` is pinned and always shown. An `episode` is a message of a conversation. A `fact` is
 * valid for a time. A `note` describes how to do something.
 */
export type MemoryKind = 'block' | 'episode' | 'fact' | 'note'

/** The owner of an item. Items never cross from one scope into another. */
export type MemoryScope =
  | { readonly kind: 'session' | 'user' | 'agent'; readonly id: string }
  /** Shared by all users, or by the team with this id. */
  | { readonly kind: 'shared'; readonly id?: string }

/** `live` is recalled, `quarantined` waits for a confirmation, `old` was superseded. */
export type MemoryState = 'live' | 'quarantined' | 'old'

/** One thing remembered. */
export interface MemoryItem {
  readonly id: string
  readonly text: string
  readonly kind: MemoryKind
  readonly scope: MemoryScope
  /** Its origin and permitted readers, which stay with the item. */
  readonly label: Label
  /** The source of the item. */
  readonly source: string
  /** When it was remembered. */
  readonly at: Timestamp
  /** Start of its validity. */
  readonly validFrom: Timestamp
  /** End of its validity; absent while it is valid. */
  readonly validTo?: Timestamp
  /** Its subject, such as `ann/address`. Of a scope's items with the same key, the newest is valid. */
  readonly key?: string
  /** The id of the item that it supersedes, or will supersede once it is confirmed. */
  readonly replaces?: string
  /** The id of the item that superseded it. */
  readonly supersededBy?: string
  /** The item is untrusted and not confirmed. */
  readonly quarantined?: true
  readonly confirmedBy?: string
  /** The session of the message, and its number there. */
  readonly sessionId?: string
  readonly turn?: number
  /** The author of the message: a role or a name. */
  readonly speaker?: string
}

/** A found item, and the reasons for its score. */
export interface MemoryHit extends MemoryItem {
  /** Comparable within one recall. */
  readonly score: number
  readonly why: MemoryReason
}

/** The parts of a score. */
export interface MemoryReason {
  /** Stems of the query that the item contains. */
  readonly words: readonly string[]
  /** For its own words (BM25). */
  readonly own: number
  /** For the turns before and after it. */
  readonly neighbours: number
  /** For the session it is in. */
  readonly session: number
  /** Cosine similarity of its embedding; absent without an embedder. */
  readonly similarity?: number
}

/** An item before it is stored. */
export interface MemoryInit {
  /** The origin of the text: a document, a system or a person. */
  readonly source: string
  /** Default: trusted and internal. For content from outside, pass its label on. */
  readonly label?: LabelInit
  /** Default: the user scope of `principal`, else shared. */
  readonly scope?: MemoryScope
  readonly principal?: { readonly id: string }
  /** Default `fact`. */
  readonly kind?: MemoryKind
  /** Its subject: a newer item with the same key supersedes this one. */
  readonly key?: string
  /** Start of its validity; default now. */
  readonly validFrom?: Timestamp
  /** End of its validity; default: until a newer item supersedes it. */
  readonly validTo?: Timestamp
  /** Makes the call idempotent: a known id changes nothing. Default: a new id. */
  readonly id?: string
  readonly at?: Timestamp
  readonly sessionId?: string
  readonly speaker?: string
}

/** A row of a store. */
export interface StoredItem extends Omit<MemoryItem, 'scope' | 'quarantined'> {
  readonly no: number
  readonly scope: string
  readonly state: MemoryState
  /** The stems of its words, between spaces. */
  readonly terms: string
}
/** A row before a store has numbered it. */
export type NewItem = Omit<StoredItem, 'no' | 'turn'>

const longestName = 512

const scopeKeys = { kind: true, id: true } satisfies KnownKeys<MemoryScope>

/**
 * Returns a scope as a key of a store.
 *
 * @throws ProvostError `invalid-scope` for an id that a database could confuse with others.
 */
export function scopeKey(scope: MemoryScope): string {
  const { kind, id = '' } = scope
  checkOptions(scope, scopeKeys, 'a scope of memory')
  checkChoice(kind, ['session', 'user', 'agent', 'shared'], 'kind', 'a scope of memory')
  if ((id === '' && kind !== 'shared') || !isName(id)) {
    throw new ProvostError(
      'invalid-scope',
      `${JSON.stringify(id.slice(0, 80))} is not a valid id of a ${kind} scope.`,
      {
        hint: `Give 1 to ${longestName} characters of well-formed text.`,
      },
    )
  }
  return `${kind}:${id}`
}

export function scopeOf(key: string): MemoryScope {
  const at = key.indexOf(':')
  const [kind, id] = [key.slice(0, at), key.slice(at + 1)]
  if (kind === 'session' || kind === 'user' || kind === 'agent') return { kind, id }
  return { kind: 'shared', ...(id && { id }) }
}

/** Returns whether databases can store a name unchanged. */
export function isName(name: string): boolean {
  return name.length <= longestName && name.isWellFormed() && !name.includes('\0')
}

/** A row as users see it. */
export function itemOf(row: StoredItem): MemoryItem {
  const { no: _no, terms: _terms, scope, state, ...item } = row
  return { ...item, scope: scopeOf(scope), ...(state === 'quarantined' && { quarantined: true }) }
}
