import type { Decisions, Delivery, Input } from '@provost/core'

import type { SendMode } from './stream.ts'

/** Something said to a run while it goes on. */
export interface QueuedInput {
  readonly input: Input
  /** Of the inbox, for what has to be taken exactly once: the log says that it was. */
  readonly token?: string
  readonly by?: string
  /** Whoever said it takes it back with this, as long as it has not entered. */
  readonly signal?: AbortSignal
}

/** What reached a run of this process from outside and has not entered its log yet. */
export interface PendingInputs {
  readonly steers: QueuedInput[]
  readonly followUps: QueuedInput[]
  /** For runs below. */
  readonly letters: ChildMessage[]
  /** Decisions that came before the run waited for them. */
  readonly decisions: Decisions[]
  /** What was delivered to the session's inbox for waits, by token; it may come before its wait. */
  readonly deliveries: Map<string, Delivery>
  /** Decisions on their way to the inbox: a run does not pause before they are there. None of them rejects. */
  readonly arriving: Set<Promise<void>>
  /** Who wants the view cut before the next model call. */
  readonly compactions: PromiseWithResolvers<void>[]
  /** Whoever waits for a human is called to look here again. */
  readonly watchers: Set<() => void>
  /** The run ends after the present step. */
  draining: boolean
  /** Resolves when the run is to end: no human is waited for any more. */
  readonly drained: PromiseWithResolvers<void>
}

/** Something said to a run below. It goes down from log to log, and stands in each before it goes on. */
export interface ChildMessage extends QueuedInput {
  /** The run that is meant. */
  readonly to: string
  readonly mode: SendMode
  readonly token: string
}

/** How far the inbox of a session was read. Whoever keeps it reads each delivery once. */
export interface InboxCursor {
  after: string
  /** Tokens that went into a mailbox here before they were delivered, so that they do not come twice. */
  readonly own: Set<string>
}

/** The inbox of a run: puts what anybody delivers into its mailbox. */
export interface Inbox {
  /** Resolves when all that had been delivered before the call is in the mailbox. */
  sync(): Promise<void>
  /**
   * Resolves when what the store told of is in the mailbox, however the reading ends; undefined where nothing is being
   * read. Whoever is about to go on without looking waits for it: what was told of in time is heeded in time.
   */
  arriving(): Promise<void> | undefined
  /** Takes in what comes, as soon as the store tells. @returns stops following. */
  follow(): () => void
}
