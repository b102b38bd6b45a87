import { setTimeout as sleep } from 'node:timers/promises'

import type { SessionStore } from '@provost/core'
import { clockOf } from '@provost/core'

/**
 * Delays runs whose last takeovers completed no step. After one such takeover, a few are tried at a time: any run of a process
 * that was killed early has one. After more, one at a time: the next waits until it completes a step, rests, or its probation
 * ends. A run that kills its process therefore interrupts few other runs, and their takeovers grow more slowly than its own.
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
/** Runs on probation at once after one takeover. */
const mostFirst = 8
const lookMs = 50
const againMs = 250

/** Creates a probation without a run. */
export function createProbation(store: SessionStore): Probation {
  let first = 0
  let repeated = 0
  const stopping = new AbortController()

  async function watch(id: string, takeovers: number, isOver: () => boolean): Promise<void> {
    for (const end = performance.now() + longestMs(takeovers); performance.now() < end && !stopping.signal.aborted;) {
      if (isOver() || (await store.leaseState(id)).takeovers === 0) return
      await sleep(lookMs, undefined, { ref: false })
    }
  }

  return {
    admits: (takeovers) => takeovers === 0 || (takeovers === 1 ? first < mostFirst : repeated === 0),
    nextLook: () => clockOf(store).now() + againMs * (1 + Math.random()),
    during(id, takeovers, work) {
      if (takeovers === 0) return work
      const leave = takeovers === 1 ? () => void first-- : () => void repeated--
      if (takeovers === 1) first++
      else repeated++
      let isOver = false
      const over = work.finally(() => (isOver = true))
      void watch(id, takeovers, () => isOver)
        // The run itself reports a failing store.
        .catch(() => {})
        .finally(leave)
      return over
    },
    stop() {
      stopping.abort()
    },
  }
}
