/** Steps between two turns of other work. */
const mostSteps = 200_000

let taken = 0

/** Notes steps that were taken without a pause. */
export function take(steps: number): void {
  if (taken === 0) setImmediate(() => (taken = 0)).unref()
  taken += steps
}

/** Waits if enough work was done since the last turn; returns undefined if no wait is needed. */
export function pause(): Promise<void> | undefined {
  return taken > mostSteps ? paused() : undefined
}

let turn: Promise<void> | undefined

/** All waiting checks share one turn: checks in the queue of the same turn would run without a pause. */
function paused(): Promise<void> {
  turn ??= new Promise<void>((resolve) => {
    setImmediate(() => {
      taken = 0
      turn = undefined
      resolve()
    })
  })
  return turn
}
