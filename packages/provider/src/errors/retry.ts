import type { ModelError } from './model-error.ts'

const firstDelayMs = 500
const maxDelayMs = 60_000
const jitter = 0.2

/**
 * How long to wait before asking again, in ms; `undefined` when asking again is of no use.
 *
 * What the provider asked for is honoured up to 60 s; beyond that it says in effect that it will not answer soon, and
 * the attempt is given up. Without such a wish it is 500 ms, doubled with each attempt, with up to 20 % on top so that
 * clients do not come back all at once.
 *
 * @param attempt the attempt that failed, counted from 1.
 * @param random a number from 0 up to 1; for tests. Default `Math.random`.
 *
 * @example
 * retryDelayMs({ class: 'capacity', message: 'Overloaded', retryable: true }, 2) // 1000 … 1200
 */
export function retryDelayMs(
  fault: ModelError,
  attempt: number,
  random: () => number = Math.random,
): number | undefined {
  if (!fault.retryable) return undefined
  if (fault.retryAfterMs !== undefined) return fault.retryAfterMs <= maxDelayMs ? fault.retryAfterMs : undefined
  const delay = firstDelayMs * 2 ** (Math.max(attempt, 1) - 1)
  return Math.round(Math.min(delay * (1 + jitter * random()), maxDelayMs))
}
