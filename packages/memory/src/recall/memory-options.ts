import type {
  Clock,
  Extension,
  HookContext,
  Label,
  MaybePromise,
  Message,
  Principal,
  SessionStore,
  Timestamp,
} from '@provost/core'

import type { Embedder, Reranker } from '../items/embedding.ts'
import type { MemoryHit, MemoryInit, MemoryItem, MemoryKind, MemoryScope, MemoryState } from '../items/item.ts'
import type { MemoryStore } from '../items/memory-store.ts'
import type { RankWeights } from '../items/rank.ts'
import type { MemoryBlock } from './memory-block.ts'

/** Options of `createMemory`. */
export interface MemoryOptions extends MemoryRunOptions {
  /** A memory store, or a session store: then the memory is kept next to the sessions. */
  readonly store: MemoryStore | SessionStore
  /** Optional: finds items with the same meaning in other words. If it fails, recall continues without it. */
  readonly embedder?: Embedder
  /** Optional: reorders hits. If it fails, recall continues without it. */
  readonly reranker?: Reranker
  readonly weights?: RankWeights
  /** Default: that of the session store, or of the machine. */
  readonly clock?: Clock
  /** Characters of an item at most; default 16,384. Longer items are rejected; longer episodes are cut. */
  readonly maxChars?: number
  /** Receives errors of the embedder or reranker. Default: a process warning. */
  readonly onFault?: (error: unknown) => void
}

/** The scopes that {@link Memory.recall} and {@link Memory.list} search. Default: the shared scope only. */
export interface MemoryReach {
  readonly principal?: Pick<Principal, 'id'>
  readonly sessionId?: string
  /** The name of an agent. */
  readonly agent?: string
  /** Exactly these scopes; overrides the other options. */
  readonly scopes?: readonly MemoryScope[]
}

/** Options of {@link Memory.recall}. */
export interface RecallOptions extends MemoryReach {
  /** Default 8, at most 100. */
  readonly limit?: number
  /** Default: episodes, facts and notes. */
  readonly kinds?: readonly MemoryKind[]
  /** Items valid at this time, even if superseded since. Default: items valid now. */
  readonly at?: Timestamp
  /** `include` also finds unconfirmed items, marked and with their labels. Default `exclude`. */
  readonly quarantined?: 'exclude' | 'include'
}

/** Selects the items of {@link Memory.list}, in the order in which they were stored. */
export interface ListOptions extends MemoryReach {
  readonly kinds?: readonly MemoryKind[]
  /** Default: live and quarantined. */
  readonly states?: readonly MemoryState[]
  readonly key?: string
  /** Items stored after the one with this id. */
  readonly after?: string
  /** Default 100, at most 1000. */
  readonly limit?: number
}

/** The origin and history of an item. */
export interface MemoryExplanation {
  readonly item: MemoryItem
  readonly state: MemoryState
  /** Items that it superseded, oldest first. */
  readonly before: readonly MemoryItem[]
  /** Items that superseded it, oldest first. */
  readonly after: readonly MemoryItem[]
}

/** The target of {@link Memory.forget}: an item by its id, a whole scope, or all that was remembered from a session. */
export type Forgettable =
  | string
  | { readonly scope: MemoryScope }
  | { readonly principal: Pick<Principal, 'id'> }
  /** Items of any scope whose origin is this session, and those in its own scope. */
  | { readonly sessionId: string }

/** A memory: an extension for agents, and an object for the app, which can use every scope. */
export interface Memory extends Extension<unknown> {
  /**
   * Stores a text as an item. An item with an untrusted label goes into quarantine.
   *
   * @throws ProvostError `memory-too-long`, `invalid-memory`, `invalid-scope`
   */
  remember(text: string, init: MemoryInit): Promise<MemoryItem>
  /** Returns the items that match a query best, best first. */
  recall(query: string, options?: RecallOptions): Promise<readonly MemoryHit[]>
  /**
   * Stores a newer version of an item. The old version stays, for `recall` with `at` and for `explain`.
   *
   * @param init overrides; other properties keep their values, and `validFrom` is now.
   * @throws ProvostError `no-such-memory` if no live item has this id.
   */
  update(id: string, text: string, init?: Partial<MemoryInit>): Promise<MemoryItem>
  /** The same as `update`. */
  supersede(id: string, text: string): Promise<MemoryItem>
  /**
   * Takes an item out of quarantine. Its label stays the same, so content derived from it is still untrusted. A caller
   * that vouches for the item passes a new `label`.
   *
   * @throws ProvostError `no-such-memory` if no quarantined item has this id.
   */
  confirm(id: string, decision: { readonly by: string; readonly label?: Partial<Label> }): Promise<MemoryItem>
  /** Removes items from all tables and indexes. Returns their number. */
  forget(what: Forgettable): Promise<number>
  list(options?: ListOptions): Promise<readonly MemoryItem[]>
  /** Returns the origin and history of an item; undefined if no item has this id. */
  explain(id: string): Promise<MemoryExplanation | undefined>
  /** Closes the store. */
  close(): Promise<void>
}

/** The scopes that a run can use. */
export interface MemoryScopes {
  readonly read: readonly MemoryScope[]
  /** The scope of its episodes and notes; it is read too. */
  readonly write: MemoryScope
}

/** How agents use a memory. */
export interface MemoryRunOptions {
  /** The name of the extension; default `memory`. */
  readonly name?: string
  /**
   * Returns the scopes of a run. Default: it writes to the scope of its principal, or of the session without a principal.
   * It reads that scope, the session's, the agent's and the shared one.
   */
  readonly scopes?: (ctx: HookContext) => MemoryScopes
  /** Pinned texts that the model always sees and may rewrite. */
  readonly blocks?: readonly MemoryBlock[]
  /** Automatic reminders after the history; `false`: blocks only. */
  readonly reminders?: false | ReminderOptions
  /** Whether the messages of a run are remembered when it ends. Default true. */
  readonly episodes?: boolean
  /** Whether the model gets `memory_recall`, `memory_remember`, `memory_forget`, and `memory_edit` for blocks. Default true. */
  readonly tools?: boolean
}

/** Options of the reminder that a memory adds after the history before a model call. */
export interface ReminderOptions {
  /** Items at most; default 6. */
  readonly limit?: number
  /** Characters at most, blocks included; default 6,000. */
  readonly maxChars?: number
  readonly kinds?: readonly MemoryKind[]
  /** Returns the query; undefined skips the search. Default: the text of the latest message. */
  readonly query?: (message: Message, ctx: HookContext) => MaybePromise<string | undefined>
}

/** The part of a memory that the extension needs. */
export type MemoryObject = Omit<Memory, keyof Extension<unknown>>
