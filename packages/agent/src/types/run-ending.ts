import type { ErrorInfo } from '@provost/core'

/** Thrown inside a run to end it: the status and what `result.error` says. */
export class RunEnding extends Error {
  readonly status: 'failed' | 'aborted'
  readonly info: ErrorInfo | undefined
  readonly thrown: unknown

  constructor(status: 'failed' | 'aborted', info?: ErrorInfo, thrown?: unknown) {
    super(info?.message ?? 'aborted')
    this.status = status
    this.info = info
    this.thrown = thrown
  }
}
