import type { PendingInputs } from '../types/inputs.ts'

/** Notifies the listeners of a run of new input. */
export function notify({ listeners }: PendingInputs): void {
  for (const look of listeners) look()
}

/**
 * Creates the pending inputs of a run.
 *
 * @param left the pending inputs of the previous run; decisions that it did not take move over.
 */
export function createPendingInputs(left?: PendingInputs): PendingInputs {
  return {
    decisions: left?.decisions.splice(0) ?? [],
    compactions: [],
    listeners: new Set(),
    draining: false,
    yielding: false,
    drained: Promise.withResolvers(),
  }
}
