import type { RunResult } from '@provost/core'
import { ProvostError } from '@provost/core'

/** What the caller of a child is told that has no answer. */
export function unfinished(agent: string, { status, error }: RunResult<unknown>): ProvostError {
  return error
    ? new ProvostError('child-failed', `${agent} failed (${error.code}): ${error.message}`, {
        hint: error.hint,
        cause: error,
      })
    : new ProvostError(`child-${status}`, `${agent} was ${status} before it had an answer.`, {
        hint: 'Ask again, or answer without it.',
      })
}
