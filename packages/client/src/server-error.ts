import { isRecord, ProvostError } from '@provost/core'

/** What the server refused, with the status of its answer. */
export class ServerError extends ProvostError {
  override readonly name = 'ServerError'
  /** Of the HTTP response. */
  readonly status: number
  /** Milliseconds that the server asks to wait. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, body: unknown, retryAfterMs?: number) {
    const error: Record<string, unknown> = isRecord(body) && isRecord(body['error']) ? body['error'] : {}
    const { code, message, hint } = error
    super(
      typeof code === 'string' ? code : `http-${status}`,
      typeof message === 'string' ? message : `The server answered ${status}.`,
      {
        hint: typeof hint === 'string' ? hint : 'See whether the address is that of a Provost server.',
        retryable: error['retryable'] === true || passing.has(status),
      },
    )
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** Another try may be answered by a process that lives. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])
