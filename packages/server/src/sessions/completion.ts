import type { ErrorInfo, EventOf, Json, PendingWork, RunResult, RunStatus, UsageReport } from '@provost/core'
import { noPendingWork } from '@provost/core'

import type { ClientRedaction } from '../http/public-errors.ts'

/** The last frame of a stream: the status of the run and its pending work. */
export interface ExecuteComplete {
  readonly type: 'execute_complete'
  readonly sessionId: string
  /** Absent if the session has had no run. */
  readonly runId?: string
  /** `idle`: the session has had no run. */
  readonly status: RunStatus | 'idle'
  readonly text: string
  readonly pending: PendingWork
  readonly output?: Json
  readonly usage?: UsageReport
  readonly cost?: number
  readonly error?: ErrorInfo
}

export function completionOf(
  sessionId: string,
  end: EventOf<'agent.end'> | undefined,
  pending: PendingWork = noPendingWork,
): ExecuteComplete {
  if (!end) return { type: 'execute_complete', sessionId, status: 'idle', text: '', pending }
  const { runId, status, text, output, usage, cost, error } = end
  return {
    type: 'execute_complete',
    sessionId,
    runId,
    status,
    text,
    pending: status === 'suspended' ? pending : noPendingWork,
    ...(output !== undefined && { output }),
    usage,
    ...(cost !== undefined && { cost }),
    ...(error && { error }),
  }
}

/** Returns the completion of a run that failed before its first log entry and therefore has no events. */
export function completionOfResult(result: RunResult<unknown>, redaction: ClientRedaction): ExecuteComplete {
  const { sessionId, runId, status, text, pending, usage, cost, error } = result
  return {
    type: 'execute_complete',
    sessionId,
    runId,
    status,
    text,
    pending,
    usage,
    ...(cost !== undefined && { cost }),
    ...(error && { error: redaction.error(error.toJSON()) }),
  }
}
