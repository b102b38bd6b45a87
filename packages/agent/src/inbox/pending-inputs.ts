import type { PendingInputs, QueuedInput } from '../types/inputs.ts'

/** Something came. */
export function notify({ watchers }: PendingInputs): void {
  for (const look of watchers) look()
}

/**
 * A mailbox.
 *
 * @param left of the run before: what it did not get to is still to be read.
 */
export function createPendingInputs(left?: PendingInputs): PendingInputs {
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
export function takeNext(box: QueuedInput[], resolved: ReadonlySet<string>): QueuedInput | undefined {
  const left = box.filter(({ token }) => token === undefined || !resolved.has(token))
  // What was taken back is not said; that it was taken is written by the next run.
  const index = left.findIndex(({ signal }) => !signal?.aborted)
  const [next] = index < 0 ? [] : left.splice(index, 1)
  box.splice(0, box.length, ...left)
  return next
}
