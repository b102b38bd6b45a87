import type { AgentEvent, Entry, EventBase, EventPayloads, EventType, Extension, NewEntry } from '@provost/core'

import type { SessionState } from './session-state.ts'

/** The observers who set an event off, one by reacting to the other. */
export type Reaction = readonly Extension[]

/** Hands the events of a run to everybody who listens. */
export interface EventBus {
  /** Whether anybody listens: without, events need not be made. */
  active(): boolean
  emit<K extends EventType>(id: string, place: EventPlace, type: K, payload: EventPayloads[K], by?: Reaction): void
  /**
   * Listens for an observer, who does not hear what it set off itself: it would answer itself for ever.
   * @param types what it hears of; events of others count and are not made for it. Default: all.
   * @returns stops listening.
   */
  listen(
    observer: Extension,
    receive: (event: AgentEvent, by: Reaction) => void,
    types?: ReadonlySet<EventType>,
  ): () => void
  /** A bounded queue to iterate; it begins with the next event. */
  subscribe(): EventQueue
  /** Takes an event of a child: for those who follow the run, not for its own observers, whom the child may have too. */
  relay(event: EventEnvelope, by: Reaction): void
  /**
   * Hears of children, for those who listen to the session, whom no child knows; one follower at most.
   * @param heeds whether anybody listens now.
   */
  follow(receive: (event: AgentEvent, by: Reaction) => void, heeds: () => boolean): void
  /** Whether anybody follows the run from outside. */
  followed(): boolean
  /** No event follows: iterations end. */
  close(): void
}

/** An event that only its reader's number is missing from: each reader counts for itself. */
export interface EventEnvelope<K extends EventType = EventType> {
  readonly type: K
  readonly id: string
  readonly place: EventPlace
  readonly parents: readonly string[]
  readonly payload: EventPayloads[K]
  /** As it was last numbered: whoever follows from the start counts the same. */
  last: AgentEvent | undefined
}

/** Where and when an event happened. A log entry says so of the events that belong to it. */
export type EventPlace = Pick<EventBase, 'runId' | 'step' | 'agent' | 'at'>

/** The events of a run for one reader: a queue that a slow reader cannot make grow without bound. */
export interface EventQueue extends AsyncIterable<AgentEvent> {
  readonly push: (event: EventEnvelope) => void
  close(): void
}

/**
 * Turns the entries of a log into the events that have a lasting meaning. The same log gives the same events, live,
 * after a crash and on any machine: what a model streams in between is all that passes.
 */
export interface EventProjection {
  /** Call with each entry before it is applied: the event that a run starts with belongs to the last of its inputs. */
  before(entry: Entry, emit: EmitDurable): void
  /** Call with each entry after it was applied to the state. */
  project(entry: Entry, emit: EmitDurable): void
  /** Call at the end of each batch: the messages that a run starts with go into its first event. */
  flush(emit: EmitDurable): void
  /** A message was begun live: its start is not given again. */
  opened(messageId: string, attempt: number): void
  /** A step was begun live: it ends even if nothing comes of it. */
  stepped(): void
}

/** Emits an event that belongs to an entry of the log. */
export interface EmitDurable {
  <K extends EventType>(type: K, payload: EventPayloads[K]): void
  /** One that mostly passes live before its entry is there: it is not counted, so that all who read the log count alike. */
  passing<K extends EventType>(type: K, payload: EventPayloads[K]): void
}

/** The right to write a log, kept alive until it is released. */
export interface Lease {
  readonly fence: number
  /** Takeovers of the log in a row, this one included, since a step was complete. */
  readonly takeovers: number
  /** Tells the store that a step is complete, or that the run rests: the takeovers before are forgotten. */
  steady(): Promise<void>
  /**
   * Makes sure that the log is still this writer's, before something is done that cannot be undone. Nothing to wait for
   * while the lease runs; where it may have run out, since the process was stopped or kept busy, the store is asked.
   * Rejects with ProvostError `fenced` when another writer has taken the log.
   */
  confirm(): Promise<void> | undefined
  release(): Promise<void>
}

/** Where an entry stands: the run, its step and the agent that acts. */
export interface Place {
  readonly runId: string
  readonly step: number
  readonly agent: string
}

/** How far the log reaches once an append is committed. */
export interface Written {
  readonly offset: number
}

/** The key to a sealed journal. */
export interface Sealed {
  /** Resolves when what was being written at the sealing is, one way or the other. */
  readonly quiet: Promise<void>
  /** Brings in what the store has and this writer does not know of: an append may be stored and answered by an error. */
  catchUp(): Promise<void>
  begin(entries: readonly NewEntry[]): Promise<Written>
  append(entries: readonly NewEntry[]): Promise<Written>
  emit: LogWriter['emit']
}

/** The one writer of a log in this process: what it appends is in the store, then in the state, then an event. */
export interface LogWriter {
  readonly state: SessionState
  readonly fence: number
  /** Makes sure that nobody else has taken the log: {@link Lease.confirm}. */
  readonly confirm: Lease['confirm']
  /** A step is complete: {@link Lease.steady}. */
  readonly steady: Lease['steady']
  /** Where the run stands; before its first entry, at its beginning. */
  place(): Place
  /** Writes entries that another store had. What they tell of has happened elsewhere: there are no events of it. */
  copy(entries: readonly NewEntry[]): Promise<Written>
  /** Writes the first entries of the run; what hooks wrote before it stood in the log comes behind them. */
  begin(entries: readonly NewEntry[]): Promise<Written>
  /**
   * Resolves when the entries are committed; appends keep the order of their calls.
   * @param by who set them off, where that was an observer: it does not hear of them.
   */
  append(entries: readonly NewEntry[], by?: Reaction): Promise<Written>
  /**
   * Emits an event that no entry stands for: it passes.
   * @param step default the log's present one.
   * @param by who set it off, where that was an observer.
   */
  emit<K extends EventType>(type: K, payload: EventPayloads[K], step?: number, by?: Reaction): void
  /** Tells that a message was begun live. */
  opened(messageId: string, attempt: number): void
  /** Refuses further appends: a run that is being closed does not let its stragglers write. */
  seal(): Sealed
}

/** A log as far as this process has read it. Whoever keeps it reads only what is new. */
export interface LogSnapshot {
  readonly state: SessionState
  readonly projection: EventProjection
}
