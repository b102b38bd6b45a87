import type { ErrorInfo } from '@provost/core'
import { ProvostError, toErrorInfo } from '@provost/core'

/** An answer that is no success, with its status. */
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
  'session-open': 409,
  'session-closed': 409,
  'session-quarantined': 409,
  'already-decided': 409,
  'wait-expired': 409,
  'nothing-to-resume': 409,
  'unknown-wait': 404,
  'unknown-run': 404,
  'invalid-input': 400,
  'invalid-option': 400,
  'invalid-session-id': 400,
  'not-json': 400,
  'invalid-agent': 400,
  'duplicate-tool': 400,
  'invalid-tool': 400,
}

/** How an error is told: what went wrong here, and is nobody else's business, is not. */
export function responseStatus(thrown: unknown): { readonly status: number; readonly error: ErrorInfo } {
  if (thrown instanceof HttpError) return { status: thrown.status, error: thrown.toJSON() }
  const error = toErrorInfo(thrown)
  const status = thrown instanceof ProvostError ? statuses[error.code] : undefined
  if (status !== undefined) return { status, error }
  return {
    status: 500,
    error: { code: 'internal', message: 'The server could not do this.', hint: 'Try again later.' },
  }
}

/** Whether it went wrong in here: then whoever asked is not told what it was. */
export function isInternal(thrown: unknown): boolean {
  return responseStatus(thrown).status === 500
}

/** An error as the response says it. */
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
    message: `There is no session ${id.slice(0, 200)}.`,
    hint: 'Leave sessionId out to begin one.',
  })
}

/** The call is for operators alone. */
export function notOperator(): HttpError {
  return new HttpError(403, {
    code: 'not-operator',
    message: 'This call is for operators.',
    hint: 'Give createServer an `operator` that says which principals have the role.',
  })
}
