import type { SessionStore } from '@provost/core'

/** Milliseconds in which the store has to answer, and for which its answer counts. */
const probeMs = 1_000

/**
 * Returns a function that tells whether a store answers. All calls of a second share one probe, since the route that calls it
 * needs no credentials.
 */
export function createProbe(store: SessionStore): () => Promise<boolean> {
  let last: { readonly answer: Promise<boolean>; until: number } | undefined
  /** A probe that has no answer yet. A store that hangs gets no second one. */
  let underway: Promise<boolean> | undefined

  async function ask(): Promise<boolean> {
    for await (const _ of store.list({ limit: 1 })) break
    return true
  }

  function probe(): Promise<boolean> {
    underway ??= ask()
      .catch(() => false)
      .finally(() => (underway = undefined))
    const timer = Promise.withResolvers<boolean>()
    const late = setTimeout(() => timer.resolve(false), probeMs)
    return Promise.race([underway, timer.promise]).finally(() => clearTimeout(late))
  }

  return () => {
    if (last && performance.now() < last.until) return last.answer
    const made = { answer: probe(), until: Number.POSITIVE_INFINITY }
    last = made
    void made.answer.then(() => (made.until = performance.now() + probeMs))
    return made.answer
  }
}
