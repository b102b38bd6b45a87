/** An error as data: what events, log entries and results carry. */
export interface ErrorInfo {
  /** A stable kebab-case name to branch on, such as `max-steps`. */
  readonly code: string
  readonly message: string
  /** What to do about it. */
  readonly hint?: string
  readonly retryable?: boolean
}

/** What a {@link ProvostError} takes beyond its code and message. */
export interface ProvostErrorOptions {
  readonly hint?: string | undefined
  readonly cause?: unknown
  readonly retryable?: boolean | undefined
}

/**
 * Every error Provost makes: a stable `code`, a message that names the thing, a `hint` that names the remedy.
 *
 * @example
 * try { … } catch (e) { if (e instanceof ProvostError && e.code === 'session-busy') … }
 */
export class ProvostError extends Error {
  override readonly name: string = 'ProvostError'
  readonly code: string
  readonly hint: string
  readonly retryable: boolean

  constructor(code: string, message: string, options: ProvostErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint ?? ''
    this.retryable = options.retryable ?? false
  }

  toJSON(): ErrorInfo {
    return {
      code: this.code,
      message: this.message,
      ...(this.hint && { hint: this.hint }),
      ...(this.retryable && { retryable: true }),
    }
  }
}

/** Another writer holds the session: wait for it, or steer it instead. Code `session-busy`. */
export class SessionBusyError extends ProvostError {
  override readonly name = 'SessionBusyError'

  constructor(sessionId: string) {
    super('session-busy', `Session ${sessionId} is being written by another run.`, {
      hint: 'Wait for that run to end, or steer it.',
      retryable: true,
    })
  }
}

/**
 * Any thrown value as data. A `ProvostError` keeps its code; anything else gets `code`.
 *
 * @param code used for what is not a `ProvostError`; default `unexpected`.
 */
export function toErrorInfo(thrown: unknown, code = 'unexpected'): ErrorInfo {
  if (thrown instanceof ProvostError) return thrown.toJSON()
  if (thrown instanceof Error) return { code, message: thrown.message || thrown.name }
  return { code, message: typeof thrown === 'string' ? thrown : `A ${typeof thrown} was thrown.` }
}

/** The error again from its data, as results hand it to callers. */
export function fromErrorInfo(info: ErrorInfo, cause?: unknown): ProvostError {
  return new ProvostError(info.code, info.message, { hint: info.hint, retryable: info.retryable, cause })
}

/**
 * The default branch of an exhaustive `switch`: a new member of the union breaks the compile here.
 *
 * @throws ProvostError `unhandled-case`, when data of an unknown kind arrives at run time after all.
 */
export function assertNever(value: never): never {
  throw new ProvostError('unhandled-case', `Nothing handles ${JSON.stringify(value)}.`, {
    hint: 'The data comes from a newer version: update Provost.',
  })
}
