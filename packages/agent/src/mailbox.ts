import type { Decisions, Delivery, Input } from '@provost/core'

import type { Letter } from './letter.ts'

/** Something said to a run while it goes on. */
export interface Sent {
  readonly input: Input
  /** Of the inbox, for what has to be taken exactly once: the log says that it was. */
  readonly token?: string
  readonly by?: string
  /** Whoever said it takes it back with this, as long as it has not entered. */
  readonly signal?: AbortSignal
}

/** What reached a run of this process from outside and has not entered its log yet. */
export interface Mailbox {
  readonly steers: Sent[]
  readonly followUps: Sent[]
  /** For runs below. */
  readonly letters: Letter[]
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

/** Something came. */
export function wake({ watchers }: Mailbox): void {
  for (const look of watchers) look()
}

/**
 * A mailbox.
 *
 * @param left of the run before: what it did not get to is still to be read.
 */
export function createMailbox(left?: Mailbox): Mailbox {
  return {
    steers: left?.steers.splice(0) ?? [],
    followUps: left?.followUps.splice(0) ?? [],
    letters: left?.letters.splice(0) ?? [],
    decisions: left?.decisions.splice(0) ?? [],
    deliveries: left?.deliveries ?? new Map(),
    arriving: new Set(),
    compactions: [],
    watchers: new Set(),
    draining: false,
    drained: Promise.withResolvers(),
  }
}

/** Takes out the next that is still to be said. */
export function takeNext(box: Sent[], resolved: ReadonlySet<string>): Sent | undefined {
  const left = box.filter(({ token }) => token === undefined || !resolved.has(token))
  // What was taken back is not said; that it was taken is written by the next run.
  const index = left.findIndex(({ signal }) => !signal?.aborted)
  const [next] = index < 0 ? [] : left.splice(index, 1)
  box.splice(0, box.length, ...left)
  return next
}
