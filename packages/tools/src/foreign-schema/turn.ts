/** Steps between two turns of other work. */
const mostSteps = 200_000

let taken = 0

/** Notes steps that were taken without a pause. */
export function take(steps: number): void {
  if (taken === 0) setImmediate(() => (taken = 0)).unref()
  taken += steps
}

/** Waits while so much was done since the last turn that other work is due; undefined where nothing is to be waited for. */
export function pause(): Promise<void> | undefined {
  return taken > mostSteps ? paused() : undefined
}

let turn: Promise<void> | undefined

/** One turn for all that wait: what is queued for the same turn would run without a pause in between. */
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
