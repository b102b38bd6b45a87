import type { ModelError } from './model-error.ts'

const firstDelayMs = 500
const maxDelayMs = 60_000
const jitter = 0.2

/**
 * Returns the delay before a retry, in ms; `undefined` if a retry cannot help.
 *
 * The wait that the provider asks for is respected up to 60 s; a longer one ends the attempts. The default is 500 ms,
 * doubled with each attempt. Up to 20 % of jitter is added, so that clients do not return all at once.
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
