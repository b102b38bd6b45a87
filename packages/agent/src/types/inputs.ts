import type { Decisions, Delivery, Input } from '@provost/core'

import type { SendMode } from './stream.ts'

/** An input for a run in progress. */
export interface QueuedInput {
  readonly input: Input
  /** Inbox token of an input that must be consumed exactly once: the log records it. */
  readonly token?: string
  readonly by?: string
  /** Withdraws the input while it has not entered the run. */
  readonly signal?: AbortSignal
}

/** Inputs that reached a run of this process from outside and are not in its log yet. */
export interface PendingInputs {
  readonly steering: QueuedInput[]
  readonly followUps: QueuedInput[]
  /** Messages for child runs. */
  readonly childMessages: ChildMessage[]
  /** Decisions that arrived before the run waited for them. */
  readonly decisions: Decisions[]
  /** Deliveries to the session's inbox for waits, by token. A delivery may arrive before its wait. */
  readonly deliveries: Map<string, Delivery>
  /** Decisions on their way to the inbox: a run suspends only after they arrive. None of them rejects. */
  readonly arrivingDecisions: Set<Promise<void>>
  /** Requests to compact the view before the next model call. */
  readonly compactions: PromiseWithResolvers<void>[]
  /** Called so that a wait for a human checks the pending inputs again. */
  readonly listeners: Set<() => void>
  /** The run ends after the current step. */
  draining: boolean
  /** Resolves when the run is about to end: it stops waiting for humans. */
  readonly drained: PromiseWithResolvers<void>
}

/** A message to a child run. It passes from log to log; each log records it before it is passed on. */
export interface ChildMessage extends QueuedInput {
  /** Id of the target run. */
  readonly to: string
  readonly mode: SendMode
  readonly token: string
}

/** How far the inbox of a session was read, so that each delivery is read once. */
export interface InboxCursor {
  after: string
  /** Tokens that entered the pending inputs here before their delivery; the inbox skips them. */
  readonly ownTokens: Set<string>
}

/** The inbox of a run: moves deliveries into its pending inputs. */
export interface Inbox {
  /** Resolves when each delivery made before the call is in the pending inputs. */
  sync(): Promise<void>
  /**
   * Resolves when the deliveries that the store announced are in the pending inputs, or reading has failed. Undefined while
   * nothing is being read. A run awaits it before it continues without reading, so that announced deliveries take
   * effect in time.
   */
  arriving(): Promise<void> | undefined
  /** Reads deliveries as soon as the store announces them. @returns stops following. */
  follow(): () => void
}
