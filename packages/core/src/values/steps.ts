/**
 * Work that can pause: a generator that yields wherever others may be let in, and returns what comes of it. It yields
 * about once for each millisecond of work, and never for small values.
 */
export type Steps<T> = Generator<undefined, T, undefined>

/** Does the work to its end, without a pause. */
export function finish<T>(work: Steps<T>): T {
  let step = work.next()
  while (!step.done) step = work.next()
  return step.value
}
