/** An error that the user can fix; shown as one line, without a stack. */
export class DeskError extends Error {
  override readonly name = 'DeskError'
  /** `usage`: the desk was started incorrectly, exit code 2. `mail`: one mail cannot be read; the others are handled. */
  readonly kind: 'usage' | 'mail'

  constructor(kind: 'usage' | 'mail', message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/** The message of any thrown value. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message || thrown.name : String(thrown)
}

/** The system's code of a failed call, such as `ENOENT`. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
