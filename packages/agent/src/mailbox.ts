import type { Decisions, Input } from '@provost/core'

/** What reached a run of this process from outside and has not entered its log yet. */
export interface Mailbox {
  readonly steers: Input[]
  readonly followUps: Input[]
  /** Decisions that came before the run waited for them. */
  readonly decisions: Decisions[]
  /** The run ends after the present step. */
  draining: boolean
  /** Resolves when the run is to end: no human is waited for any more. */
  readonly drained: PromiseWithResolvers<void>
}

/** An empty mailbox. */
export function createMailbox(): Mailbox {
  return { steers: [], followUps: [], decisions: [], draining: false, drained: Promise.withResolvers() }
}
