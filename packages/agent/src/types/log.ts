import type { AgentEvent, Clock, Entry, EventBase, EventPayloads, EventType, Extension, NewEntry } from '@provost/core'

import type { SessionState } from './session-state.ts'

/** The observers that set off an event, one by reacting to another. */
export type Reaction = readonly Extension[]

/** Distributes the events of a run to all listeners. */
export interface EventBus {
  /** Whether there is a listener; without one, events need not be created. */
  active(): boolean
  emit<K extends EventType>(id: string, place: EventMeta, type: K, payload: EventPayloads[K], by?: Reaction): void
  /**
   * Subscribes an observer. It does not receive events that it set off itself, which prevents endless loops.
   * @param types event types that it receives; others are counted but not created for it. Default: all.
   * @returns unsubscribes.
   */
  listen(
    observer: Extension,
    receive: (event: AgentEvent, by: Reaction) => void,
    types?: ReadonlySet<EventType>,
  ): () => void
  /** Returns a bounded queue to iterate; it starts with the next event. */
  subscribe(): EventQueue
  /** Whether no event can follow. */
  isOver(): boolean
  /**
   * Forwards an event of a child to followers of the run. The run's own observers may also be the child's, so they are
   * skipped.
   */
  forward(event: EventEnvelope): void
  /**
   * Sends events of children to listeners of the session, which children do not know; at most one follower.
   * @param heeds returns whether there is a listener now.
   */
  follow(receive: (event: AgentEvent, by: Reaction) => void, heeds: () => boolean): void
  /** Whether the run has followers outside. */
  followed(): boolean
  /** Ends iterations: no event follows. */
  close(): void
}

/** An event without its sequence number: each reader counts for itself. */
export interface EventEnvelope<K extends EventType = EventType> {
  readonly type: K
  readonly id: string
  readonly meta: EventMeta
  readonly parents: readonly string[]
  readonly payload: EventPayloads[K]
  /** The observers that set it off. */
  readonly by: Reaction
  /** The event with its last number; readers that follow from the start share it. */
  last: AgentEvent | undefined
}

/** Where and when an event happened, taken from the log entry that it belongs to. */
export type EventMeta = Pick<EventBase, 'runId' | 'step' | 'agent' | 'at'>

/** The event queue of one reader; it stays bounded if the reader is slow. */
export interface EventQueue extends AsyncIterable<AgentEvent> {
  readonly push: (event: EventEnvelope) => void
  close(): void
}

/**
 * Turns the entries of a log into durable events. The same log gives the same events live, after a crash and on any
 * machine. Only streaming events are transient.
 */
export interface EventProjection {
  /** Call with each entry before it is applied: the start event of a run follows the last of its inputs. */
  before(entry: Entry, emit: EmitDurable): void
  /** Call with each entry after it is applied to the state. */
  project(entry: Entry, emit: EmitDurable): void
  /** Call at the end of each batch: the first messages of a run go into its start event. */
  flush(emit: EmitDurable): void
  /** Records that a message started live: its start event is not repeated. */
  opened(messageId: string, attempt: number): void
  /** Records that a step started live: it ends even without a result. */
  stepped(): void
}

/** Emits an event that belongs to a log entry. */
export interface EmitDurable {
  <K extends EventType>(type: K, payload: EventPayloads[K]): void
  /**
   * Emits an event that is mostly streamed before its entry exists. It is not counted, so that all readers count alike.
   */
  streamed<K extends EventType>(type: K, payload: EventPayloads[K]): void
}

/** The right to write a log, kept alive until it is released. */
export interface Lease {
  readonly fence: number
  /** Consecutive takeovers of the log, including this one, since the last complete step. */
  readonly takeovers: number
  /** Tells the store that a step is complete or the run is idle, which resets the takeover count. */
  steady(): Promise<void>
  /**
   * Checks that this writer still owns the log, before an action that cannot be undone. Returns undefined while the
   * lease is valid. If the lease may have expired, because the process was stopped or busy, it asks the store. Rejects
   * with ProvostError `fenced` when another writer has taken the log.
   */
  confirm(): Promise<void> | undefined
  release(): Promise<void>
}

/** The position of an entry: the run, its step and the active agent. */
export interface EntryContext {
  readonly runId: string
  readonly step: number
  readonly agent: string
  /** The clock of the store. */
  readonly clock: Clock
}

/** The offset of the log after a committed append. */
export interface AppendResult {
  readonly offset: number
}

/** Access to a sealed log writer. */
export interface Sealed {
  /** Resolves when the append in progress at the sealing has succeeded or failed. */
  readonly settled: Promise<void>
  /** Loads entries that the store has and this writer does not know: a stored append may have reported an error. */
  catchUp(): Promise<void>
  begin(entries: readonly NewEntry[]): Promise<AppendResult>
  append(entries: readonly NewEntry[]): Promise<AppendResult>
  emit: LogWriter['emit']
}

/** The only writer of a log in this process. An entry is first in the store, then in the state, then an event. */
export interface LogWriter {
  readonly state: SessionState
  readonly fence: number
  /** Checks that no other writer has taken the log: {@link Lease.confirm}. */
  readonly confirm: Lease['confirm']
  /** Reports a complete step: {@link Lease.steady}. */
  readonly steady: Lease['steady']
  /** Returns the current position of the run; before its first entry, its start. */
  entryContext(): EntryContext
  /** Copies entries of another store. Their events happened elsewhere, so none are emitted. */
  copy(entries: readonly NewEntry[]): Promise<AppendResult>
  /** Writes the first entries of the run, followed by entries that hooks wrote before them. */
  begin(entries: readonly NewEntry[]): Promise<AppendResult>
  /**
   * Resolves when the entries are committed; appends keep the order of their calls.
   * @param by observers that set them off; they do not receive the events.
   */
  append(entries: readonly NewEntry[], by?: Reaction): Promise<AppendResult>
  /**
   * Emits a transient event, without a log entry.
   * @param step default the log's current step.
   * @param by observers that set it off.
   */
  emit<K extends EventType>(type: K, payload: EventPayloads[K], step?: number, by?: Reaction): void
  /** Records that a message started live. */
  opened(messageId: string, attempt: number): void
  /** Rejects further appends: late work of a closing run cannot write. */
  seal(): Sealed
}

/** A log as far as this process has read it. Keep it to read only new entries. */
export interface LogSnapshot {
  readonly state: SessionState
  readonly projection: EventProjection
}
