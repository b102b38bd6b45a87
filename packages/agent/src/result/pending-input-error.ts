import type { PendingWork } from '@provost/core'
import { ProvostError } from '@provost/core'

/**
 * A fan-out or an evaluator outside of any run waits for somebody. Of one that was started for a session all that was
 * done is kept: started again for the same session, with `decisions` on what is pending, it goes on. Code
 * `pending-input`.
 */
export class PendingInputError extends ProvostError {
  override readonly name = 'WaitsForSomebodyError'
  /** What it waits for. */
  readonly pending: PendingWork

  constructor(what: string, pending: PendingWork, kept: boolean) {
    super('pending-input', `A child of ${what} waits for somebody outside.`, {
      hint: kept
        ? 'Start the same again for the same session, with decisions on what error.pending holds.'
        : 'Give onApproval, or a session that keeps it; or do it in a composite tool: there the run of the tool waits.',
    })
    this.pending = pending
  }
}
