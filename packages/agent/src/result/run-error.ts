import { ProvostError, fromErrorInfo, toErrorInfo } from '@provost/core'

import type { AbortControl } from '../control/abort-control.ts'
import { RunEnding } from '../types/run-ending.ts'

/** What a run's error says of whatever ended it. */
export function asError(thrown: unknown): ProvostError {
  if (thrown instanceof ProvostError) return thrown
  if (thrown instanceof RunEnding && thrown.status === 'aborted') {
    return new ProvostError('aborted', 'It was aborted before it was done.', {
      hint: 'Nothing has changed: do it again.',
    })
  }
  if (thrown instanceof RunEnding)
    return thrown.info ? fromErrorInfo(thrown.info, thrown.thrown) : asError(thrown.thrown)
  return fromErrorInfo(toErrorInfo(thrown), thrown)
}

/** A run that was aborted for a reason has failed for it. */
export function causeOf(thrown: unknown, { failure }: AbortControl): unknown {
  const aborted = thrown instanceof RunEnding && thrown.status === 'aborted'
  return aborted && failure ? new RunEnding('failed', failure) : thrown
}
