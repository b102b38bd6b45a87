import { ProvostError } from '@provost/core'

/** Repeats the work of a store while its database is away. */
export interface Patience {
  /**
   * Runs work, and repeats it while it fails because the database is away.
   *
   * @param work receives the number of attempts before.
   * @throws its last error when the patience is over.
   */
  run<T>(work: (attempts: number) => Promise<T>): Promise<T>
}

const firstWaitMs = 50
const longestWaitMs = 2_000

/** A time in which the database is away. */
interface Outage {
  /** Failed attempts in it. */
  attempts: number
  timer: NodeJS.Timeout | undefined
  /** Work that waits for its turn, the oldest first. */
  readonly waiting: Set<() => void>
}

/**
 * Creates the patience of a store. All work shares one breaker: while the database is away, one piece at a time tries it,
 * after a growing delay. When it succeeds, all other work continues. Work of a store that was never reached fails at once,
 * since its URL may be wrong.
 *
 * @param patienceMs milliseconds from its first failure until work fails; 0 never repeats.
 */
export function createPatience(patienceMs: number): Patience {
  let outage: Outage | undefined
  let wasReached = false

  function recovered(): void {
    wasReached = true
    if (!outage) return
    const { waiting, timer } = outage
    clearTimeout(timer)
    outage = undefined
    for (const resume of waiting) resume()
  }

  /** Lets the next piece of work try after a delay. */
  function schedule(own: Outage): void {
    if (own.timer) return
    const ms = Math.min(longestWaitMs, firstWaitMs * 2 ** own.attempts) * (0.5 + Math.random())
    own.timer = setTimeout(() => {
      own.timer = undefined
      const [next] = own.waiting
      next?.()
    }, ms)
  }

  /** Waits for a turn to try, the end of the outage, or the end of the patience. */
  function turn(own: Outage, leftMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = setTimeout(done, leftMs)
      function done(): void {
        clearTimeout(end)
        own.waiting.delete(done)
        resolve()
      }
      own.waiting.add(done)
      schedule(own)
    })
  }

  return {
    async run(work) {
      let until: number | undefined
      for (let attempts = 0; ; attempts++) {
        if (outage) await turn(outage, Math.max(0, (until ??= performance.now() + patienceMs) - performance.now()))
        try {
          const result = await work(attempts)
          recovered()
          return result
        } catch (error) {
          if (!isAway(error)) {
            // The database has answered.
            recovered()
            throw error
          }
          until ??= performance.now() + patienceMs
          if (!wasReached || performance.now() >= until) {
            if (outage && outage.waiting.size > 0) schedule(outage)
            throw error
          }
          outage ??= { attempts: 0, timer: undefined, waiting: new Set() }
          outage.attempts++
        }
      }
    },
  }
}

function isAway(error: unknown): boolean {
  return error instanceof ProvostError && error.code === 'store-unreachable' && error.retryable
}
