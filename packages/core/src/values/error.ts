/** An error as data, as in events, log entries and results. */
export interface ErrorInfo {
  /** A stable kebab-case name to branch on, such as `max-steps`. */
  readonly code: string
  readonly message: string
  /** What the reader should do about it. */
  readonly hint?: string
  readonly retryable?: boolean
}

/** The options of a {@link ProvostError}. */
export interface ProvostErrorOptions {
  readonly hint?: string | undefined
  readonly cause?: unknown
  readonly retryable?: boolean | undefined
}

/**
 * Every error that Provost throws: a stable `code`, a message that names the cause, a `hint` that names the remedy.
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

/** Another run is writing the session: wait for it, or steer it instead. Code `session-busy`. */
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
 * Returns any thrown value as data. A `ProvostError` keeps its code; anything else gets `code`. It never throws: a
 * revoked proxy and an error with a throwing getter get a fixed message.
 *
 * @param code for values other than a `ProvostError`; default `unexpected`.
 */
export function toErrorInfo(thrown: unknown, code = 'unexpected'): ErrorInfo {
  try {
    if (thrown instanceof ProvostError) return thrown.toJSON()
    if (thrown instanceof Error) {
      const message: unknown = thrown.message || thrown.name
      if (typeof message === 'string') return { code, message }
    }
  } catch {
    return { code, message: 'A value that cannot be read was thrown.' }
  }
  return { code, message: typeof thrown === 'string' ? thrown : `A ${typeof thrown} was thrown.` }
}

/** Returns an error made from its data, as results contain it. */
export function fromErrorInfo(info: ErrorInfo, cause?: unknown): ProvostError {
  return new ProvostError(info.code, info.message, { hint: info.hint, retryable: info.retryable, cause })
}

/**
 * The default branch of an exhaustive `switch`: a new member of the union becomes a compile error here.
 *
 * @throws ProvostError `unhandled-case`, for data of an unknown kind at run time.
 */
export function assertNever(value: never): never {
  throw new ProvostError('unhandled-case', `Nothing handles ${caseOf(value)}.`, {
    hint: 'The data comes from a newer version: update Provost.',
  })
}

/** Returns what names an unknown case. Its other fields may have secrets. */
function caseOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(String(value).slice(0, 100))
  const names = ['type', 'kind', 'op'].map((field) => [field, Reflect.get(value, field)] as const)
  const texts = names.filter((name): name is [string, string] => typeof name[1] === 'string')
  return JSON.stringify(Object.fromEntries(texts.map(([field, name]) => [field, name.slice(0, 100)])))
}
