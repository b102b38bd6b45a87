import type { RunResult } from '@provost/core'
import { ProvostError } from '@provost/core'

/** Returns the error for the caller of a child that ended without an answer. */
export function unfinished(agent: string, { status, error }: RunResult<unknown>): ProvostError {
  return error
    ? new ProvostError('child-failed', `${agent} failed (${error.code}): ${error.message}`, {
        hint: error.hint,
        cause: error,
      })
    : new ProvostError(`child-${status}`, `${agent} was ${status} before it answered.`, {
        hint: 'Try again, or continue without the answer.',
      })
}
