import type { ErrorInfo } from '@provost/core'
import { ProvostError, toErrorInfo } from '@provost/core'

/** An error response with its HTTP status. */
export class HttpError extends ProvostError {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, error: ErrorInfo, headers: Readonly<Record<string, string>> = {}) {
    super(error.code, error.message, { hint: error.hint, retryable: error.retryable })
    this.status = status
    this.headers = headers
  }
}

const statuses: Readonly<Record<string, number>> = {
  'unknown-session': 404,
  'unknown-agent': 404,
  'wrong-agent': 409,
  'session-busy': 409,
  'session-exists': 409,
  'session-erased': 409,
  'session-open': 409,
  'child-session': 409,
  'agent-not-served': 409,
  'session-closed': 409,
  'session-quarantined': 409,
  'already-decided': 409,
  'wait-expired': 409,
  'no-turn': 409,
  'call-not-in-step': 400,
  'nothing-to-resume': 409,
  'definition-changed': 409,
  'no-compactor': 409,
  'unknown-wait': 404,
  'unknown-run': 404,
  'unknown-message': 404,
  'invalid-input': 400,
  'invalid-option': 400,
  'invalid-session-id': 400,
  'invalid-export': 400,
  'newer-export': 400,
  'bad-signature': 400,
  'export-too-big': 413,
  'not-json': 400,
  'invalid-agent': 400,
  'duplicate-tool': 400,
  'invalid-tool': 400,
}

/** Returns the status and the error of a response. Internal errors are replaced with a general one. */
export function responseStatus(thrown: unknown): { readonly status: number; readonly error: ErrorInfo } {
  if (thrown instanceof HttpError) return { status: thrown.status, error: thrown.toJSON() }
  const error = toErrorInfo(thrown)
  const status = thrown instanceof ProvostError ? statuses[error.code] : undefined
  if (status !== undefined) return { status, error }
  return {
    status: 500,
    error: { code: 'internal', message: 'The server failed to handle the request.', hint: 'Try again later.' },
  }
}

/** Whether an error is the server's own failure, whose text clients do not receive. */
export function isInternal(thrown: unknown): boolean {
  return responseStatus(thrown).status === 500
}

/** Returns an error as a response. */
export function errorResponse(thrown: unknown): Response {
  const { status, error } = responseStatus(thrown)
  return jsonError(status, error, thrown instanceof HttpError ? thrown.headers : {})
}

function jsonError(status: number, error: ErrorInfo, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ error: { ...error, hint: error.hint ?? '' } }, { status, headers })
}

export function unknownSession(id: string): HttpError {
  return new HttpError(404, {
    code: 'unknown-session',
    message: `Session ${id.slice(0, 200)} does not exist.`,
    hint: 'Check its id, or leave sessionId out to create a session.',
  })
}

/** Returns the error of an operators' route for other principals. */
export function notOperator(): HttpError {
  return new HttpError(403, {
    code: 'not-operator',
    message: 'This route requires the operator role.',
    hint: 'Give createServer an `operator` function that returns true for this principal.',
  })
}
