import { ProvostError, fromErrorInfo, toErrorInfo } from '@provost/core'

import type { AbortControl } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'

/** Returns the error of a run for the value that was thrown. */
export function asError(thrown: unknown): ProvostError {
  if (thrown instanceof ProvostError) return thrown
  if (thrown instanceof RunEnding && thrown.status === 'aborted') {
    return new ProvostError('aborted', 'The operation was aborted before it finished.', {
      hint: 'Nothing has changed. Try again.',
    })
  }
  if (thrown instanceof RunEnding && thrown.thrown instanceof ProvostError) return thrown.thrown
  if (thrown instanceof RunEnding)
    return thrown.info ? fromErrorInfo(thrown.info, thrown.thrown) : asError(thrown.thrown)
  return fromErrorInfo(toErrorInfo(thrown), thrown)
}

/** Returns the failure behind an abort, where an internal failure caused the abort. */
export function causeOf(thrown: unknown, { failure }: AbortControl): unknown {
  const aborted = thrown instanceof RunEnding && thrown.status === 'aborted'
  return aborted && failure ? new RunEnding('failed', failure) : thrown
}
