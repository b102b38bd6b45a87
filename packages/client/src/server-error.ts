import { isRecord, ProvostError } from '@provost/core'

/** An error response of the server, with its HTTP status. */
export class ServerError extends ProvostError {
  override readonly name = 'ServerError'
  /** Status of the HTTP response. */
  readonly status: number
  /** Milliseconds after which the server asks to retry. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, body: unknown, retryAfterMs?: number) {
    const error: Record<string, unknown> = isRecord(body) && isRecord(body['error']) ? body['error'] : {}
    const { code, message, hint } = error
    super(
      typeof code === 'string' ? code : `http-${status}`,
      typeof message === 'string' ? message : `The server answered ${status}.`,
      {
        hint: typeof hint === 'string' ? hint : 'Check that baseUrl is the address of a Provost server.',
        retryable: error['retryable'] === true || passing.has(status),
      },
    )
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** Statuses to retry: another process may answer. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])
