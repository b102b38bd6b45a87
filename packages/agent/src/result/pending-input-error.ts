import type { PendingWork } from '@provost/core'
import { ProvostError } from '@provost/core'

/**
 * Thrown when a fan-out or an evaluator outside of a run waits for a decision or an input. Code `pending-input`.
 * With a session, all completed work is kept: start it again for the same session, with `decisions`, to resume it.
 */
export class PendingInputError extends ProvostError {
  override readonly name = 'PendingInputError'
  /** The pending approvals, inputs and results. */
  readonly pending: PendingWork

  constructor(what: string, pending: PendingWork, kept: boolean) {
    super('pending-input', `A child of ${what} waits for a decision or an input.`, {
      hint: kept
        ? 'Start it again for the same session, with "decisions" on the items of error.pending.'
        : 'Give onApproval or a session, or start it in a composite tool, where the run of the tool waits.',
    })
    this.pending = pending
  }
}
