import type { Label, Timestamp } from '@provost/core'

import type { MemoryKind, MemoryState, NewItem, StoredItem } from './item.ts'

/** Where items are looked for. */
export interface ShelfFilter {
  /** Keys of scopes. */
  readonly scopes: readonly string[]
  readonly kinds: readonly MemoryKind[]
  readonly states: readonly MemoryState[]
}

/** The items of one scope, kind and state: each shelf is an index of its own, and nobody else's words weigh in it. */
export interface Shelf {
  readonly no: number
  readonly scope: string
  /** How many items are on it, and how many terms they have together. */
  readonly items: number
  readonly terms: number
}

/** What is needed of an item to weigh it. */
export interface Candidate {
  readonly no: number
  readonly shelf: number
  readonly terms: string
  readonly validFrom: Timestamp
  readonly validTo?: Timestamp
  readonly sessionId?: string
  readonly turn?: number
}

/** The numbers of items, newest first; `all` unless there were more than asked for. */
export interface Postings {
  readonly nos: readonly number[]
  readonly all: boolean
}

/** What {@link MemoryStore.nearest} looks for. */
export interface NearestQuery {
  readonly shelves: readonly number[]
  /** The embedder: vectors of others are not comparable. */
  readonly model: string
  readonly vector: Float32Array
  /** Only what holds at this time. */
  readonly at: Timestamp
  readonly limit: number
}

/** An item and how near it is: 1 for the same direction, 0 for none in common. */
export interface Near {
  readonly no: number
  readonly similarity: number
}

/** What compares embeddings: an extension of the database, or this process. */
export type VectorEngine = 'sqlite-vec' | 'pgvector' | 'process'

/** What {@link MemoryStore.list} gives, in the order in which items were stored. */
export interface ItemFilter extends ShelfFilter {
  readonly key?: string
  /** Items behind the one with this id. */
  readonly after?: string
  readonly limit: number
}

/** Keeps the items of a memory and finds them again. What they mean is not its business. */
export interface MemoryStore {
  /**
   * Stores an item, once for an id, and numbers it in its session. A live item with a key takes the place of the one
   * that had it, unless that one holds since later: then it is itself old.
   *
   * @returns the item as it is stored; undefined when what it replaces is not live any more.
   */
  put(item: NewItem): Promise<StoredItem | undefined>
  /** Takes an item out of quarantine. Undefined when it is not in it. */
  confirm(id: string, label: Label, by: string, at: Timestamp): Promise<StoredItem | undefined>
  get(id: string): Promise<StoredItem | undefined>
  /** The items that it took the place of. */
  replacedBy(id: string): Promise<readonly StoredItem[]>
  list(filter: ItemFilter): Promise<readonly StoredItem[]>
  /** Removes items, and what indexes know of them. */
  remove(target: { readonly id: string } | { readonly scope: string }): Promise<number>

  shelves(filter: ShelfFilter): Promise<readonly Shelf[]>
  /**
   * For each group the items that have all of its terms, `most` at most.
   *
   * @param at only what held at this time; default: whatever is on the shelves.
   */
  postings(
    shelves: readonly number[],
    groups: readonly (readonly string[])[],
    most: number,
    at?: Timestamp,
  ): Promise<readonly Postings[]>
  /** These items, and the turns before and after them that are on these shelves. */
  candidates(nos: readonly number[], shelves: readonly number[]): Promise<readonly Candidate[]>
  rows(nos: readonly number[]): Promise<readonly StoredItem[]>

  /** Keeps the embedding of an item, unless it was removed meanwhile. */
  putVector(no: number, model: string, vector: Float32Array): Promise<void>
  /** The items whose embeddings are nearest, by cosine similarity, nearest first. */
  nearest(query: NearestQuery): Promise<readonly Near[]>
  /** What {@link nearest} is done by, as far as the store says. */
  comparedBy?(): Promise<VectorEngine>
  close(): Promise<void>
}
