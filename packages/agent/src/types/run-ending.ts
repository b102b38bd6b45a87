import type { ErrorInfo, ErrorSource } from '@provost/core'

/** Thrown inside a run to end it: the status and what `result.error` says. `yielded` suspends the run between two steps. */
export class RunEnding extends Error {
  readonly status: 'failed' | 'aborted' | 'yielded'
  readonly info: ErrorInfo | undefined
  readonly thrown: unknown
  /** What failed. Absent: the runtime itself ends the run. */
  readonly source: ErrorSource | undefined

  constructor(status: RunEnding['status'], info?: ErrorInfo, thrown?: unknown, source?: ErrorSource) {
    super(info?.message ?? 'aborted')
    this.status = status
    this.info = info
    this.thrown = thrown
    this.source = source
  }
}
