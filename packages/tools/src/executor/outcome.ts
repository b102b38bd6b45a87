import type { CallOutcome, ErrorInfo, Json, JsonPointer, Label, RemoteError, Tool, ToolOutput } from '@provost/core'

import { cut } from '../definition/issues.ts'
import { errorLabel } from '../definition/result-label.ts'

/** The outcome of a call, for the log, the events and the model. */
export interface ToolOutcome {
  readonly outcome: Extract<CallOutcome, 'ok' | 'error' | 'timeout' | 'aborted'>
  /** What the model receives. */
  readonly output: ToolOutput
  /** The result itself, where there is one. */
  readonly value?: Json
  readonly label: Label
  readonly fields?: Readonly<Record<JsonPointer, Label>>
  readonly details?: Json
  readonly error?: ErrorInfo
  /** The call ended without an answer, and may have taken effect. */
  readonly unknown?: true
  /** Milliseconds, to the microsecond. */
  readonly durationMs: number
}

const maxErrorLength = 4_000

/** Returns the outcome of a call without a result. */
export function failedOutcome(
  tool: Tool,
  outcome: Exclude<ToolOutcome['outcome'], 'ok'>,
  thrown: ErrorInfo,
  durationMs: number,
): ToolOutcome {
  const error =
    thrown.message.length > maxErrorLength ? { ...thrown, message: cut(thrown.message, maxErrorLength) } : thrown
  return {
    outcome,
    output: { type: 'error-text', value: error.hint ? `${error.message}\n${error.hint}` : error.message },
    label: errorLabel(tool),
    error,
    durationMs,
  }
}

/** Returns the outcome of a call whose remote side reported a failure. It is untrusted: the remote side wrote the text. */
export function remoteFailure(tool: Tool, { message, code }: RemoteError): ToolOutcome {
  const failed = failedOutcome(tool, 'error', { code: cut(code ?? 'tool-failed', 100), message }, 0)
  if (code === undefined || !failed.error) return failed
  return { ...failed, output: { type: 'error-text', value: `${failed.error.code}: ${failed.error.message}` } }
}

/** Milliseconds since a `performance.now()`, to the microsecond: more digits only lengthen the log. */
export function elapsed(since: number): number {
  return Math.round((performance.now() - since) * 1000) / 1000
}
