/**
 * Work that can pause: a generator that yields where other work may run, and returns its result. It yields about once for
 * each millisecond of work, and never for small values.
 */
export type Steps<T> = Generator<undefined, T, undefined>

/** Runs the work to its end, without a pause. */
export function finish<T>(work: Steps<T>): T {
  let step = work.next()
  while (!step.done) step = work.next()
  return step.value
}
