import { ProvostError } from '../values/error.ts'
import type { Scrubber } from './scrubber.ts'

/**
 * Returns an error without secrets in its message, stack and causes. An error without secrets is returned as it is;
 * otherwise a new `ProvostError` with the same code, or a new error with the same name, without its other fields. It never
 * throws: a revoked proxy and an object with a throwing getter become an error with a fixed message.
 */
export function scrubError(scrubber: Scrubber, thrown: unknown): unknown {
  try {
    return scrubber.empty ? thrown : scrubbed(scrubber, thrown, new Set())
  } catch {
    return new Error('A value that cannot be read was thrown.')
  }
}

/** @param above the errors that it is a cause of. An error that is among its own causes is left out there. */
function scrubbed(scrubber: Scrubber, thrown: unknown, above: Set<unknown>): unknown {
  if (above.has(thrown)) return undefined
  if (!scrubber.holds(thrown)) return thrown
  if (!(thrown instanceof Error)) return scrubber.scrubValue(thrown)
  const cause = scrubbed(scrubber, thrown.cause, above.add(thrown))
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
