import { setTimeout as sleep } from 'node:timers/promises'

import type { SessionStore } from '@provost/core'
import { clockOf } from '@provost/core'

/**
 * Delays runs whose last takeover completed no step. One of them is tried at a time: the next one waits until it completes
 * a step, rests, or its probation ends. A run that kills its process therefore interrupts few other runs, and their
 * takeovers grow more slowly than its own.
 */
export interface Probation {
  /** Whether a run with so many takeovers may begin now. */
  admits(takeovers: number): boolean
  /** Returns when a run that may not is looked at again. */
  nextLook(): number
  /** Keeps the place of a run while it is on probation. @returns the result of its work. */
  during<T>(id: string, takeovers: number, work: Promise<T>): Promise<T>
  stop(): void
}

/** Returns the milliseconds of probation at most, by the number of takeovers without a completed step. */
const longestMs = (takeovers: number): number => Math.min(2_000 * 4 ** (takeovers - 1), 300_000)
const lookMs = 50
const againMs = 250

/** Creates a probation without a run. */
export function createProbation(store: SessionStore): Probation {
  let isTaken = false
  const stopping = new AbortController()

  async function watch(id: string, takeovers: number, isOver: () => boolean): Promise<void> {
    for (const end = performance.now() + longestMs(takeovers); performance.now() < end && !stopping.signal.aborted;) {
      if (isOver() || (await store.leaseState(id)).takeovers === 0) return
      await sleep(lookMs, undefined, { ref: false })
    }
  }

  return {
    admits: (takeovers) => takeovers === 0 || !isTaken,
    nextLook: () => clockOf(store).now() + againMs * (1 + Math.random()),
    during(id, takeovers, work) {
      if (takeovers === 0) return work
      isTaken = true
      let isOver = false
      const over = work.finally(() => (isOver = true))
      void watch(id, takeovers, () => isOver)
        // The run itself reports a failing store.
        .catch(() => {})
        .finally(() => (isTaken = false))
      return over
    },
    stop() {
      stopping.abort()
    },
  }
}
