import type { Label, Timestamp } from '@provost/core'

import type { MemoryKind, MemoryState, NewItem, StoredItem } from './item.ts'

/** Selects the shelves to search. */
export interface ShelfFilter {
  /** Keys of scopes. */
  readonly scopes: readonly string[]
  readonly kinds: readonly MemoryKind[]
  readonly states: readonly MemoryState[]
}

/** The items of one scope, kind and state. Each shelf is a separate index, so scopes do not affect each other's scores. */
export interface Shelf {
  readonly no: number
  readonly scope: string
  /** Number of its items, and of their terms. */
  readonly items: number
  readonly terms: number
}

/** The part of an item that scoring needs. */
export interface Candidate {
  readonly no: number
  readonly shelf: number
  readonly terms: string
  readonly validFrom: Timestamp
  readonly validTo?: Timestamp
  readonly sessionId?: string
  readonly turn?: number
}

/** The numbers of items, newest first; `all` is false if there are more. */
export interface Postings {
  readonly nos: readonly number[]
  readonly all: boolean
}

/** The query of {@link MemoryStore.nearest}. */
export interface NearestQuery {
  readonly shelves: readonly number[]
  /** The name of the embedder: vectors of different embedders are not comparable. */
  readonly model: string
  readonly vector: Float32Array
  /** Only items valid at this time. */
  readonly at: Timestamp
  readonly limit: number
}

/** An item and its cosine similarity. */
export interface NearestItem {
  readonly no: number
  readonly similarity: number
}

/** What compares embeddings: an extension of the database, or this process. */
export type VectorEngine = 'sqlite-vec' | 'pgvector' | 'process'

/** Selects the items of {@link MemoryStore.list}, in the order in which they were stored. */
export interface ItemFilter extends ShelfFilter {
  readonly key?: string
  /** Items behind the one with this id. */
  readonly after?: string
  readonly limit: number
}

/** The items to remove: one by its id, those of a scope, or those remembered from a session, in any scope. */
export type RemovedItems = { readonly id: string } | { readonly scope: string } | { readonly session: string }

/** Stores and finds the items of a memory. */
export interface MemoryStore {
  /**
   * Stores an item once per id, and numbers it in its session. A live item supersedes the live item with the same key,
   * unless that one starts to be valid later: then the new item is stored as old.
   *
   * @returns the stored item; undefined if the item that it replaces is not live any more.
   */
  put(item: NewItem): Promise<StoredItem | undefined>
  /** Takes an item out of quarantine. Returns undefined if it is not in quarantine. */
  confirm(id: string, label: Label, by: string, at: Timestamp): Promise<StoredItem | undefined>
  get(id: string): Promise<StoredItem | undefined>
  /** Returns the items that an item superseded. */
  replacedBy(id: string): Promise<readonly StoredItem[]>
  list(filter: ItemFilter): Promise<readonly StoredItem[]>
  /** Removes items from the tables and indexes. Returns their number. */
  remove(target: RemovedItems): Promise<number>

  shelves(filter: ShelfFilter): Promise<readonly Shelf[]>
  /**
   * Returns, for each group, at most `most` items that have all of its terms.
   *
   * @param at only items valid at this time; default: all items on the shelves.
   */
  postings(
    shelves: readonly number[],
    groups: readonly (readonly string[])[],
    most: number,
    at?: Timestamp,
  ): Promise<readonly Postings[]>
  /** Returns these items, and the turns of their sessions at most `reach` turns away, if on these shelves. Each item once. */
  candidates(nos: readonly number[], shelves: readonly number[], reach: number): Promise<readonly Candidate[]>
  rows(nos: readonly number[]): Promise<readonly StoredItem[]>

  /** Stores the embedding of an item, unless the item was removed meanwhile. */
  putVector(no: number, model: string, vector: Float32Array): Promise<void>
  /** Returns the items with the most similar embeddings, by cosine similarity, nearest first. */
  nearest(query: NearestQuery): Promise<readonly NearestItem[]>
  /** Returns the engine of {@link nearest}. */
  comparedBy?(): Promise<VectorEngine>
  close(): Promise<void>
}
