import type {
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

/** What a `createMemory` is made of. */
export interface MemoryOptions extends MemoryRunOptions {
  /** Where it is kept: a memory store, or the store of the sessions, beside which it is then kept. */
  readonly store: MemoryStore | SessionStore
  /** Finds what is meant and said in other words. Everything works without one, and goes on when it fails. */
  readonly embedder?: Embedder
  /** Puts what was found in order. Everything works without one, and goes on when it fails. */
  readonly reranker?: Reranker
  readonly weights?: RankWeights
  /** Characters of an item at most; default 16,384. Longer ones are refused, what was said is cut. */
  readonly maxChars?: number
  /** Told of an embedder or reranker that fails. Default: a process warning. */
  readonly onFault?: (error: unknown) => void
}

/** Where {@link Memory.recall} and {@link Memory.list} look. Without any of these: in what is shared with everybody. */
export interface MemoryReach {
  readonly principal?: Pick<Principal, 'id'>
  readonly sessionId?: string
  /** The name of an agent. */
  readonly agent?: string
  /** Exactly these scopes, whatever the others say. */
  readonly scopes?: readonly MemoryScope[]
}

/** How {@link Memory.recall} looks. */
export interface RecallOptions extends MemoryReach {
  /** Default 8, at most 100. */
  readonly limit?: number
  /** Default: episodes, facts and notes. */
  readonly kinds?: readonly MemoryKind[]
  /** What held at this time, superseded since or not. Default: what holds now. */
  readonly at?: Timestamp
  /** `include` finds what nobody has confirmed too, marked and labelled as it is. Default `exclude`. */
  readonly quarantined?: 'exclude' | 'include'
}

/** Which items {@link Memory.list} gives, in the order in which they were stored. */
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

/** All that is known of where an item comes from. */
export interface MemoryExplanation {
  readonly item: MemoryItem
  readonly state: MemoryState
  /** What it took the place of, oldest first. */
  readonly before: readonly MemoryItem[]
  /** What took its place, oldest first. */
  readonly after: readonly MemoryItem[]
}

/** What to forget: an item by its id, or a whole scope. */
export type Forgettable = string | { readonly scope: MemoryScope } | { readonly principal: Pick<Principal, 'id'> }

/** A memory: an extension for agents, and an object for the app, which may reach every scope. */
export interface Memory extends Extension<unknown> {
  /**
   * Remembers a text. With a label that is untrusted it goes into quarantine.
   *
   * @throws ProvostError `memory-too-long`, `invalid-memory`, `invalid-scope`
   */
  remember(text: string, init: MemoryInit): Promise<MemoryItem>
  /** What is nearest to a question, best first. */
  recall(query: string, options?: RecallOptions): Promise<readonly MemoryHit[]>
  /**
   * A newer version of an item; the old one stays, for whoever asks what held before.
   *
   * @param init what is left out stays as it was; `validFrom` is now.
   * @throws ProvostError `no-such-memory` when no live item has this id.
   */
  update(id: string, text: string, init?: Partial<MemoryInit>): Promise<MemoryItem>
  /** The same as `update`. */
  supersede(id: string, text: string): Promise<MemoryItem>
  /**
   * Takes an item out of quarantine. Its label stays as it is, so that what is made from it is still untrusted; who can
   * vouch for it says so with `label`.
   *
   * @throws ProvostError `no-such-memory` when none with this id is in quarantine.
   */
  confirm(id: string, decision: { readonly by: string; readonly label?: Partial<Label> }): Promise<MemoryItem>
  /** Removes items from all tables and indexes, and gives how many they were. */
  forget(what: Forgettable): Promise<number>
  list(options?: ListOptions): Promise<readonly MemoryItem[]>
  /** Where an item comes from; undefined when there is none with this id. */
  explain(id: string): Promise<MemoryExplanation | undefined>
  /** Closes the store. */
  close(): Promise<void>
}

/** Which scopes a run reaches. */
export interface MemoryScopes {
  readonly read: readonly MemoryScope[]
  /** Where what it says and notes goes; it is read too. */
  readonly write: MemoryScope
}

/** How agents use a memory. */
export interface MemoryRunOptions {
  /** Of the extension; default `memory`. */
  readonly name?: string
  /**
   * Which scopes a run reaches. Default: it writes to its principal's, or to the session's where it has none, and reads
   * those, its agent's and what is shared with everybody.
   */
  readonly scopes?: (ctx: HookContext) => MemoryScopes
  /** Pinned texts that the model always sees and may rewrite. */
  readonly blocks?: readonly MemoryBlock[]
  /** What a run is reminded of by itself, behind the history; `false`: only of blocks. */
  readonly reminders?: false | ReminderOptions
  /** Whether what was said is remembered when a run ends. Default true. */
  readonly episodes?: boolean
  /** Whether the model gets `memory_recall`, `memory_remember`, `memory_forget`, and `memory_edit` for blocks. Default true. */
  readonly tools?: boolean
}

/** What a memory puts behind the history before a model call. */
export interface ReminderOptions {
  /** Items at most; default 6. */
  readonly limit?: number
  /** Characters at most, blocks included; default 6,000. */
  readonly maxChars?: number
  readonly kinds?: readonly MemoryKind[]
  /** What to look for; default: the text of the latest message. Undefined: nothing. */
  readonly query?: (message: Message, ctx: HookContext) => MaybePromise<string | undefined>
}

/** What the extension needs of the memory. */
export type MemoryObject = Omit<Memory, keyof Extension<unknown>>
