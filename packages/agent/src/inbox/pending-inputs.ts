import type { PendingInputs, QueuedInput } from '../types/inputs.ts'

/** Notifies the listeners of a pending-inputs box of new input. */
export function notify({ listeners }: PendingInputs): void {
  for (const look of listeners) look()
}

/**
 * Creates the pending inputs of a run.
 *
 * @param left the pending inputs of the previous run; those that it did not take move over.
 */
export function createPendingInputs(left?: PendingInputs): PendingInputs {
  return {
    steering: left?.steering.splice(0) ?? [],
    followUps: left?.followUps.splice(0) ?? [],
    childMessages: left?.childMessages.splice(0) ?? [],
    decisions: left?.decisions.splice(0) ?? [],
    deliveries: left?.deliveries ?? new Map(),
    arrivingDecisions: new Set(),
    compactions: [],
    listeners: new Set(),
    draining: false,
    drained: Promise.withResolvers(),
  }
}

/** Removes and returns the next input that was neither taken nor withdrawn. */
export function takeNext(box: QueuedInput[], resolved: ReadonlySet<string>): QueuedInput | undefined {
  const left = box.filter(({ token }) => token === undefined || !resolved.has(token))
  // Withdrawn inputs stay: the next run records them as taken.
  const index = left.findIndex(({ signal }) => !signal?.aborted)
  const [next] = index < 0 ? [] : left.splice(index, 1)
  box.splice(0, box.length, ...left)
  return next
}
