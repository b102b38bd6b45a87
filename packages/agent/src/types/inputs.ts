import type { Decisions, Delivery, Input, Json } from '@provost/core'

import type { AbortOptions, SendMode } from './stream.ts'

/** An input that enters a run. */
export interface QueuedInput {
  readonly input: Input
  /** Inbox token of an input that must be consumed exactly once: the log records it. */
  readonly token?: string
  readonly by?: string
  /** Data of the sender. The log records it where the input enters. */
  readonly data?: Json
  /** Withdraws the input while it has not entered the run. */
  readonly signal?: AbortSignal | undefined
}

/** An input in an inbox. */
export interface InboxInput extends QueuedInput {
  readonly token: string
  readonly mode: SendMode
  /** Its position in the inbox. */
  readonly position: number
  /** Id of the delivery before it; empty for the first. */
  readonly after: string
  /** The run that the input names. Logs of earlier releases also received the inputs of child runs. */
  readonly to?: string
}

/** An input to send. */
export interface SentInput extends Pick<QueuedInput, 'data' | 'signal'> {
  readonly input: Input
  readonly mode: SendMode
  /** Sent while no run is open: it takes its place in the queue if another input starts the run. */
  readonly atRest?: boolean
}

/** What a run does with the news in its inbox. */
export interface InboxReader {
  readonly runId: string
  readonly pendingInputs: PendingInputs
  /** Called when another process aborts the run. */
  abort(token: string, options: AbortOptions): void
  /** Called when the store stops announcing deliveries. */
  failed(thrown: unknown): void
}

/**
 * The inbox of a log in the store. All that is sent to the log's runs goes there; what was read is cached here until the
 * log records it.
 */
export interface Inbox {
  /** Other senders may know the log: it is watched, and questions can be answered there. */
  readonly isShared: boolean
  /** Answers to waits that the log does not have, by token. An answer may arrive before its wait. */
  readonly answers: Map<string, Delivery>
  /** Sends input. Inputs of one sender arrive in their order. @returns when the store has it. */
  send(token: string, sent: SentInput): Promise<'accepted' | 'duplicate'>
  /** Sends any other item, without secrets. */
  put(token: string, value: Json, by?: string): Promise<'accepted' | 'duplicate'>
  /** Adds an answer that this process received elsewhere. */
  answer(delivery: Delivery): void
  /** Whether input of a mode is unread, or on its way. */
  has(mode: SendMode): boolean
  /** Id of the last delivery that was read here; empty if there was none. */
  lastRead(): string
  /** Id of the last delivery before the first input that no run has taken; otherwise as {@link lastRead}. */
  lastTaken(): string
  /** Whether an abort of a run was read that no log records as taken. */
  hasAbort(runId: string): boolean
  /** Unread inputs of a mode in their order. An input is unread until the log records it. */
  unread(mode: SendMode): Iterable<InboxInput>
  /** Resolves when each delivery made before the call is read. */
  sync(): Promise<void>
  /**
   * Resolves when what was sent here or announced by the store is read, or has failed. Undefined while nothing is on its
   * way. A run awaits it before it continues without reading.
   */
  arriving(): Promise<unknown> | undefined
  /** Reads deliveries for a run as soon as they arrive. @returns stops following the store. */
  serve(reader: InboxReader): () => void
}

/** What a run has received in this process, beside its inbox. */
export interface PendingInputs {
  /** Decisions that arrived before the run waited for them. */
  readonly decisions: Decisions[]
  /** Requests to compact the view before the next model call. */
  readonly compactions: PromiseWithResolvers<void>[]
  /** Called so that a wait for a human checks the inbox and the decisions again. */
  readonly listeners: Set<() => void>
  /** The run ends after the current step. */
  draining: boolean
  /** The run is suspended at the start of the next step, and can be resumed at once. */
  yielding: boolean
  /** Resolves when the run is about to end: it stops waiting for humans. */
  readonly drained: PromiseWithResolvers<void>
}
