import type { Json, Timestamp } from '../values/json.ts'
import type { Entry, Fold, NewEntry } from './entry.ts'
import type { SessionStatus } from './run-status.ts'
import type { SessionInfo } from './run.ts'

/** Something that reached a session from outside its writer: an approval, a remote result, a steer. */
export interface Delivery {
  readonly id: string
  readonly token: string
  readonly value: Json
  readonly by: string
  readonly at: Timestamp
}

/** The right to append to a log, until it expires; a later lease has a higher fence. */
export interface Lease {
  readonly fence: number
  /** Takeovers of this log in a row, this one included, since a step of its run was complete. */
  readonly takeovers: number
}

/** What a lease is asked for. */
export interface LeaseTerms {
  /** The owner holds the lease and has completed a step under it: the takeovers of the log count from 0 again. */
  readonly steady?: true
  /** The log is a part of a session, and the owner holds the session's own lease: taking it over is not counted. */
  readonly part?: true
}

/** How the right to write a log stands. */
export interface LeaseState {
  /** `lapsed`: its last owner neither released nor renewed it, so that owner died or stalled. */
  readonly holder: 'none' | 'alive' | 'lapsed'
  /** As in {@link Lease}. */
  readonly takeovers: number
  /** When the store set the session aside. Absent: it did not. */
  readonly quarantinedAt?: Timestamp
}

/** Where an append belongs: behind the entry with offset `after`, under the lease with this fence. */
export interface AppendPosition {
  readonly after: number
  readonly fence: number
}

/** What an append did: the log's last offset, and the stored entries whose ids were known already. */
export interface Appended {
  readonly offset: number
  readonly existing: readonly Entry[]
}

/** The entries of a log, one by one. */
export interface EntryReader extends AsyncIterable<Entry> {
  /** The same in pages of at least one entry, from a store that reads pages: quicker for whoever wants them all. */
  pages?(): AsyncIterable<readonly Entry[]>
}

/** A session as hooks and tools reach it: its log as folds, and bytes that are too big for the log. */
export interface SessionAccess {
  readonly session: {
    readonly id: string
    /** As its store says: nothing outlives the process. */
    readonly ephemeral?: true
    /** As its store says: nobody else can read it. */
    readonly private?: true
  }
  /** A fold over the session's log, brought up to date. */
  fold<S>(fold: Fold<S>): S
  /** The bytes that {@link putBlob} stored under this hash; undefined when the store has none. */
  blob(hash: string): Promise<Uint8Array | undefined>
  /** Stores bytes and gives their SHA-256, in hexadecimal. Write it into the log: the session needs what its log mentions. */
  putBlob(bytes: Uint8Array): Promise<string>
}

/** What passed after an entry of a log, such as deltas of a text that is not in the log yet. */
export interface PassingPiece {
  readonly log: string
  /** Of the entry that it follows. */
  readonly offset: number
  /** It counts from here… */
  readonly from: number
  /** …to here among what passed after that entry, both inclusive. */
  readonly to: number
  readonly body: string
}

/**
 * What is being said and is in no log yet, beside the logs: for readers in processes other than the one that says it.
 * It has no lease and belongs to no log; after a crash it is void. A log's pieces are bounded ({@link passingLimits}).
 */
export interface PassingBuffer {
  /**
   * Puts pieces behind those that their logs have, for any number of logs in one transaction.
   * @returns the logs that are full: of a piece that does not fit, and of those behind it, nothing is kept.
   */
  keep(pieces: readonly PassingPiece[]): Promise<readonly string[]>
  /** The pieces of a log that follow its entry `offset` or a later one, in order. */
  read(log: string, offset: number): Promise<readonly PassingPiece[]>
  /** Drops the pieces of logs that follow entries before `offset`: what they told of is in the log. */
  drop(places: readonly { readonly log: string; readonly offset: number }[]): Promise<void>
}

/** What a {@link PassingBuffer} keeps of one log at most: pieces, and the UTF-16 code units of their bodies. */
export const passingLimits: { readonly pieces: number; readonly length: number } = Object.freeze({
  pieces: 2_000,
  length: 1_048_576,
})

/**
 * Keeps the logs of sessions. The log named like its session is the main log; children have logs of their own.
 * Each log has one writer at a time; everybody else delivers to the inbox.
 */
export interface SessionStore {
  /** Set when nothing outlives the process: run states then carry their entries. */
  readonly ephemeral?: true
  /**
   * Set by whoever knows that nobody else can read what the store keeps: secret results may then be spilled to it. Without
   * it a store counts as shared, as most are between the sessions of many people.
   */
  readonly private?: true
  /**
   * Takes or renews the lease of a log. Taking a lapsed one from another owner is a takeover: the store counts it in
   * the same transaction. The takeover after `mostTakeovers` is refused and sets the session aside.
   * @param owner the same owner renews and keeps its fence.
   * @param ttlMs milliseconds until the lease may be taken by another owner.
   * @throws ProvostError `session-quarantined` for a session that is set aside, until `releaseQuarantine`.
   */
  lease(log: string, owner: string, ttlMs: number, terms?: LeaseTerms): Promise<Lease | 'busy'>
  /** Reads how the lease of a log stands, and changes nothing. */
  leaseState(log: string): Promise<LeaseState>
  /**
   * Ends the quarantine of a session: its takeovers count from 0, and servers resume its run. For operators.
   * @returns false when it was not in quarantine.
   */
  releaseQuarantine(sessionId: string): Promise<boolean>
  release(log: string, fence: number): Promise<void>
  /**
   * Appends entries in order, all or none. An id the log knows adds no row: the stored entry comes back in `existing`.
   * Of an id that stands twice in one append, the first counts.
   * @throws ProvostError `wrong-offset` when the log is not at `after`; `fenced` when a later lease exists.
   */
  append(log: string, entries: readonly NewEntry[], at: AppendPosition): Promise<Appended>
  /** The entries behind `after` (default 0), in order; ends at the present end. An unknown log is empty. */
  read(log: string, after?: number): EntryReader
  /** Puts a value into a session's inbox; needs no lease and may come before the wait. The first for a token wins. */
  deliver(sessionId: string, token: string, value: Json, by: string): Promise<'accepted' | 'duplicate'>
  inbox(sessionId: string, after?: string): AsyncIterable<Delivery>
  /**
   * Yields when something may be new: a hint, so a store may poll. Ends with the signal.
   * @param of `inbox` for who cares for deliveries alone: what is written to the log need not wake it, but may.
   */
  watch(sessionId: string, signal: AbortSignal, of?: 'inbox'): AsyncIterable<void>
  blob(hash: string): Promise<Uint8Array | undefined>
  /** Stores bytes under their SHA-256 and gives it, in hexadecimal. */
  putBlob(bytes: Uint8Array): Promise<string>
  list(filter?: {
    principal?: string
    status?: SessionStatus
    after?: string
    limit?: number
  }): AsyncIterable<SessionInfo>
  /** Removes a session with its child logs, its inbox, and the blobs that no other log mentions. */
  delete(sessionId: string): Promise<void>
  close(): Promise<void>
  /** Absent where no other process could read it, and in stores that keep nothing but logs. */
  readonly passing?: PassingBuffer
  /** Where it is, so that something else can be kept beside it. Absent: it does not say. */
  place?(): StoreLocation
}

/** Where a store keeps things. */
export type StoreLocation =
  | { readonly kind: 'process' }
  | { readonly kind: 'file' | 'folder'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
