import type { Clock } from '../values/clock.ts'
import type { Json, Timestamp } from '../values/json.ts'
import type { Entry, Fold, NewEntry } from './entry.ts'
import type { SessionStatus } from './run-status.ts'
import type { SessionInfo } from './run.ts'
import type { SessionSummaries } from './session-summary.ts'

/** A value delivered to a session by another process: an approval, a remote result, a steer. */
export interface Delivery {
  readonly id: string
  readonly token: string
  readonly value: Json
  readonly by: string
  readonly at: Timestamp
}

/** The right to append to a log, until it expires. A later lease has a higher fence. */
export interface Lease {
  readonly fence: number
  /** Consecutive takeovers of this log, this one included, since a step of its run was completed. */
  readonly takeovers: number
}

/** The options of acquiring a lease. */
export interface LeaseTerms {
  /** The owner holds the lease and has completed a step under it: the takeover count of the log restarts at 0. */
  readonly steady?: true
  /** The log belongs to a session whose lease the owner holds: its takeover is not counted. */
  readonly part?: true
}

/** The state of a log's lease. */
export interface LeaseState {
  /** `lapsed`: the last owner neither released nor renewed the lease, so it died or stalled. */
  readonly holder: 'none' | 'alive' | 'lapsed'
  /** Who took the lease and has not released it, as `lease` received it. Absent where the store does not tell. */
  readonly owner?: string
  /** When the owner took or last renewed the lease. Absent where the store does not tell. */
  readonly renewedAt?: Timestamp
  /** As in {@link Lease}. */
  readonly takeovers: number
  /** When the lease of a living owner expires unless it is renewed; absent for any other holder, and for a lease without an end. */
  readonly until?: Timestamp
  /** When the store quarantined the session; absent when it is not quarantined. */
  readonly quarantinedAt?: Timestamp
}

/** Which due sessions a process claims. */
export interface ClaimOptions {
  /** Names of the agents whose sessions the process can run. */
  readonly agents: readonly string[]
  /** Sessions at most. */
  readonly limit: number
  /** Milliseconds for which the claimed sessions are hidden from other claims, with up to a fifth more. */
  readonly hiddenMs: number
  /** Ids of principals whose sessions are not claimed; default none. */
  readonly except?: readonly string[]
}

/** A session that a process has claimed. */
export interface DueSession {
  readonly id: string
  readonly agent: string
  readonly principal?: string
  /** As in {@link Lease}. */
  readonly takeovers: number
}

/** What a store removes in a sweep. */
export interface SweepOptions {
  /**
   * Blobs that no log mentions, put before this time: a run leaves them that dies before it records them. Later ones stay,
   * since a log may be about to mention them.
   */
  readonly putBefore: Timestamp
  /**
   * Also overwrites copies of deleted text that a database keeps in its files. Takes time in proportion to the store, and
   * with SQLite other writers wait meanwhile.
   */
  readonly traces?: true
}

/** What is left of an erased session. */
export interface Tombstone {
  /** When it was erased. */
  readonly at: Timestamp
  /** Id of the receipt of the erasure. */
  readonly receipt: string
}

/** When a session is due next. */
export interface DueTime {
  /** Absent: only a delivery makes the session due. */
  readonly at?: Timestamp
  /** Id of the last delivery that the caller has read. A later one makes the session due at once. Absent: deliveries are ignored. */
  readonly seen?: string
  /** Offset of the last entry that the caller has read. If the log has a later one, its due time stays. Absent: entries are ignored. */
  readonly after?: number
}

/** Where an append belongs: after the entry with offset `after`, under the lease with this fence. */
export interface AppendPosition {
  readonly after: number
  readonly fence: number
}

/** The result of an append: the log's last offset, and the stored entries whose ids already existed. */
export interface Appended {
  readonly offset: number
  readonly existing: readonly Entry[]
}

/** The entries of a log, one by one. */
export interface EntryReader extends AsyncIterable<Entry> {
  /** The same in pages of at least one entry, from a store that reads pages: faster for reading all entries. */
  pages?(): AsyncIterable<readonly Entry[]>
}

/** A session as hooks and tools see it: its log as folds, and blobs that are too big for the log. */
export interface SessionAccess {
  readonly session: {
    readonly id: string
    /** As the store declares: nothing outlives the process. */
    readonly ephemeral?: true
    /** As the store declares: no other user can read it. */
    readonly private?: true
  }
  /** Returns the state of a fold over the session's log, brought up to date. */
  fold<S>(fold: Fold<S>): S
  /** Returns the time of the session's store, in milliseconds since 1970. */
  now(): Timestamp
  /** Returns the bytes that {@link putBlob} stored under this hash; undefined when the store has none. */
  blob(hash: string): Promise<Uint8Array | undefined>
  /** Stores bytes and returns their SHA-256, in hexadecimal. Record it in the log: blobs that the log mentions are kept. */
  putBlob(bytes: Uint8Array): Promise<string>
}

/** A transient item after an entry of a log, such as deltas of a text that is not in the log yet. */
export interface TransientPiece {
  readonly log: string
  /** The offset of the entry that it follows. */
  readonly offset: number
  /** The first item number, counted from that entry… */
  readonly from: number
  /** …and the last, both inclusive. */
  readonly to: number
  readonly body: string
}

/**
 * Output that is being streamed and is not in a log yet, for readers in other processes than the one that produces it.
 * It has no lease and belongs to no log; after a crash it is void. Items of a log are bounded ({@link transientLimits}).
 */
export interface TransientBuffer {
  /**
   * Appends items to those of their logs, for any number of logs in one transaction.
   * @returns the logs that are full: an item that does not fit is dropped with the items after it.
   */
  keep(pieces: readonly TransientPiece[]): Promise<readonly string[]>
  /** Returns the items of a log that follow its entry `offset` or a later one, in order. */
  read(log: string, offset: number): Promise<readonly TransientPiece[]>
  /** Drops the items that follow entries before `offset`: the log now contains their content. */
  drop(places: readonly { readonly log: string; readonly offset: number }[]): Promise<void>
}

/** What a {@link TransientBuffer} keeps of one log at most: items, and the UTF-16 code units of their bodies. */
export const transientLimits: { readonly pieces: number; readonly length: number } = Object.freeze({
  pieces: 2_000,
  length: 1_048_576,
})

/**
 * Keeps the logs of sessions. The log named like its session is the main log; children have their own logs.
 * Each log has one writer at a time; all other processes deliver to the inbox of the log.
 */
export interface SessionStore {
  /** Set when nothing outlives the process: run states then contain their entries. */
  readonly ephemeral?: true
  /**
   * Set when no other user can read what the store keeps, so that secret results may be spilled to it. Without it a store
   * counts as shared, because most stores hold sessions of many people.
   */
  readonly private?: true
  /** The time of all sessions in it. Absent: that of the machine. Read it with {@link clockOf}. */
  readonly clock?: Clock
  /**
   * Acquires or renews the lease of a log. Acquiring a lapsed lease of another owner is a takeover, which the store counts
   * in the same transaction. The takeover after `mostTakeovers` is refused and quarantines the session.
   * @param owner the same owner renews and keeps its fence.
   * @param ttlMs milliseconds until the lease may be taken by another owner.
   * @throws ProvostError `session-quarantined` for a quarantined session, until `releaseQuarantine`.
   */
  lease(log: string, owner: string, ttlMs: number, terms?: LeaseTerms): Promise<Lease | 'busy'>
  /** Returns the state of a log's lease without changing it. */
  leaseState(log: string): Promise<LeaseState>
  /**
   * Ends the quarantine of a session: its takeover count restarts at 0, and servers resume its run. For operators.
   * @returns false when it was not in quarantine.
   */
  releaseQuarantine(sessionId: string): Promise<boolean>
  release(log: string, fence: number): Promise<void>
  /**
   * Appends entries in order, all or none. An id that the log has adds no row: the stored entry is returned in `existing`.
   * Of an id that occurs twice in one append, the first entry counts.
   * @throws ProvostError `wrong-offset` when the log is not at `after`; `fenced` when a later lease exists.
   */
  append(log: string, entries: readonly NewEntry[], at: AppendPosition): Promise<Appended>
  /** Yields the entries after `after` (default 0), in order, up to the current end. An unknown log is empty. */
  read(log: string, after?: number): EntryReader
  /** Puts a value into the inbox of a log. Needs no lease, and may precede the wait. The first value for a token wins. */
  deliver(log: string, token: string, value: Json, by: string): Promise<'accepted' | 'duplicate'>
  inbox(log: string, after?: string): AsyncIterable<Delivery>
  /**
   * Yields when something may be new: a hint, so a store may poll. Ends with the signal.
   * @param of `inbox` for callers that need deliveries only: writes to the log may then yield, but need not.
   */
  watch(log: string, signal: AbortSignal, of?: 'inbox'): AsyncIterable<void>
  blob(hash: string): Promise<Uint8Array | undefined>
  /** Stores bytes under their SHA-256 and returns it, in hexadecimal. */
  putBlob(bytes: Uint8Array): Promise<string>
  list(filter?: {
    principal?: string
    status?: SessionStatus
    after?: string
    limit?: number
  }): AsyncIterable<SessionInfo>
  /** Removes a session with its child logs, their inboxes, and the blobs that no other log mentions. */
  delete(sessionId: string): Promise<void>
  /**
   * Removes a session like `delete`, for good: a tombstone keeps its id and the names of its logs from being used again. To
   * lease one or to deliver to one then fails with `session-erased`, and its transient items are dropped. An id without a
   * session gets a tombstone too. Absent in stores that keep no tombstones.
   * @param receipt id of the receipt, which the tombstone states. The first one counts.
   * @returns the names of the removed logs.
   */
  erase?(sessionId: string, receipt: string): Promise<readonly string[]>
  /** Returns the tombstone of a log, or of the session that it belongs to. */
  tombstone?(log: string): Promise<Tombstone | undefined>
  /**
   * Removes what deletions and crashes leave behind.
   * @returns the number of removed blobs.
   */
  sweep?(options: SweepOptions): Promise<number>
  close(): Promise<void>
  /**
   * Claims sessions that are due: a process has to look at them. Absent in stores without a wake index; a process then
   * looks through `list`. A store makes a session due
   * - at once: by a delivery, unless its run has a living writer; by a run that suspends or ends with unread deliveries
   *   (`seen` of its entry);
   * - at the `due` of the entry that suspends its run;
   * - while its run is in progress: when the lease of the writer expires, with up to a fifth more; soon after its release.
   *
   * A session in quarantine is not due. A claim is no lease: it hides the session, so that a claimer that dies delays it
   * only. A due session with a living writer is hidden and not returned. Sessions of different principals take turns;
   * those of one are claimed in the order in which they became due.
   */
  claimDue?(options: ClaimOptions): Promise<readonly DueSession[]>
  /**
   * Sets when a session is due next, unless it has a living writer, or entries that the caller has not read. For a process
   * that claimed it and found nothing to do.
   */
  setDue?(sessionId: string, next: DueTime): Promise<void>
  /** Absent where no other process could read it, and in stores that keep only logs. */
  readonly transient?: TransientBuffer
  /** Summaries of the sessions, for lists and searches. Absent in stores that keep none: a reader then folds the logs. */
  readonly summaries?: SessionSummaries
  /** The location of the store, so that related data can be kept beside it. Absent: unknown. */
  place?(): StoreLocation
}

/** Where a store keeps its data. */
export type StoreLocation =
  | { readonly kind: 'process' }
  | { readonly kind: 'file' | 'folder'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
