import { ProvostError } from '../values/error.ts'
import type { Scrubber } from './scrubber.ts'

/**
 * Returns an error without secrets in its message, stack, fields and causes. An error without secrets is returned as it
 * is; otherwise a new one with the same name and code, whose cause is plain data.
 */
export function scrubError(scrubber: Scrubber, thrown: unknown): unknown {
  if (scrubber.empty || !scrubber.holds(thrown)) return thrown
  if (!(thrown instanceof Error)) return scrubber.scrubValue(thrown)
  const cause = thrown.cause === undefined ? undefined : scrubError(scrubber, thrown.cause)
  const message = scrubber.scrub(thrown.message)
  const error =
    thrown instanceof ProvostError
      ? new ProvostError(thrown.code, message, {
          hint: scrubber.scrub(thrown.hint),
          retryable: thrown.retryable,
          cause,
        })
      : new Error(message, cause === undefined ? undefined : { cause })
  const stack = thrown.stack === undefined ? undefined : scrubber.scrub(thrown.stack)
  Object.defineProperty(error, 'stack', { value: stack, configurable: true, writable: true })
  if (!(thrown instanceof ProvostError))
    Object.defineProperty(error, 'name', { value: scrubber.scrub(thrown.name), configurable: true, writable: true })
  return error
}
