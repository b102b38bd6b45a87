import type { KnownKeys, Label, LabelInit, Timestamp } from '@provost/core'
import { checkChoice, checkOptions, ProvostError } from '@provost/core'

/**
 * What an item is: a `block` is pinned and always shown, an `episode` is something that was said, a `fact` holds for a
 * time, a `note` says how something is done.
 */
export type MemoryKind = 'block' | 'episode' | 'fact' | 'note'

/** Whose memory an item is. Nothing crosses from one scope into another. */
export type MemoryScope =
  | { readonly kind: 'session' | 'user' | 'agent'; readonly id: string }
  /** For everybody, or for the team with this id. */
  | { readonly kind: 'shared'; readonly id?: string }

/** `live` is recalled, `quarantined` waits for a confirmation, `old` was superseded. */
export type MemoryState = 'live' | 'quarantined' | 'old'

/** One thing remembered. */
export interface MemoryItem {
  readonly id: string
  readonly text: string
  readonly kind: MemoryKind
  readonly scope: MemoryScope
  /** Where it comes from and who may see it: goes wherever the item goes. */
  readonly label: Label
  /** Who or what said so. */
  readonly source: string
  /** When it was remembered. */
  readonly at: Timestamp
  /** From when it holds. */
  readonly validFrom: Timestamp
  /** Until when it held; absent while it does. */
  readonly validTo?: Timestamp
  /** What it is about, such as `ann/address`: of a scope's items with one key, the newest holds. */
  readonly key?: string
  /** The id of the item that it took the place of, or will once it is confirmed. */
  readonly replaces?: string
  /** The id of the item that took its place. */
  readonly supersededBy?: string
  /** Untrusted, and nobody has confirmed it. */
  readonly quarantined?: true
  readonly confirmedBy?: string
  /** The session that it was said in, and the how manieth it was there. */
  readonly sessionId?: string
  readonly turn?: number
  /** Who said it: a role or a name. */
  readonly speaker?: string
}

/** An item that was found, and why. */
export interface MemoryHit extends MemoryItem {
  /** Comparable within one recall. */
  readonly score: number
  readonly why: MemoryReason
}

/** What a score is made of. */
export interface MemoryReason {
  /** Words of the question that stand in it, as their stems. */
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
  /** Who or what said so. */
  readonly source: string
  /** What is left out is trusted and internal, as of your own: pass on the label of what came from elsewhere. */
  readonly label?: LabelInit
  /** Default: the user scope of `principal`, else shared. */
  readonly scope?: MemoryScope
  readonly principal?: { readonly id: string }
  /** Default `fact`. */
  readonly kind?: MemoryKind
  /** What it is about: a newer item with the same key supersedes this one. */
  readonly key?: string
  /** From when it holds; default now. */
  readonly validFrom?: Timestamp
  /** Until when it holds; default: until something supersedes it. */
  readonly validTo?: Timestamp
  /** Makes it idempotent: a known id changes nothing. Default: a new one. */
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
 * A scope as a key of a store.
 *
 * @throws ProvostError `invalid-scope` for an id that a database would not keep apart from others.
 */
export function scopeKey(scope: MemoryScope): string {
  const { kind, id = '' } = scope
  checkOptions(scope, scopeKeys, 'a scope of memory')
  checkChoice(kind, ['session', 'user', 'agent', 'shared'], 'kind', 'a scope of memory')
  if ((id === '' && kind !== 'shared') || !isName(id)) {
    throw new ProvostError('invalid-scope', `${JSON.stringify(id.slice(0, 80))} is no id of a ${kind} scope.`, {
      hint: `Give 1 to ${longestName} characters of well-formed text.`,
    })
  }
  return `${kind}:${id}`
}

export function scopeOf(key: string): MemoryScope {
  const at = key.indexOf(':')
  const [kind, id] = [key.slice(0, at), key.slice(at + 1)]
  if (kind === 'session' || kind === 'user' || kind === 'agent') return { kind, id }
  return { kind: 'shared', ...(id && { id }) }
}

/** Whether a database keeps a name apart from all others. */
export function isName(name: string): boolean {
  return name.length <= longestName && name.isWellFormed() && !name.includes('\0')
}

/** A row as users see it. */
export function itemOf(row: StoredItem): MemoryItem {
  const { no: _no, terms: _terms, scope, state, ...item } = row
  return { ...item, scope: scopeOf(scope), ...(state === 'quarantined' && { quarantined: true }) }
}
