/** Something the person at the terminal has to know and can mend; shown as one line, without a stack. */
export class DeskError extends Error {
  override readonly name = 'DeskError'
  /** `usage`: the desk was started wrongly, exit code 2. `mail`: one mail cannot be read, the rest goes on. */
  readonly kind: 'usage' | 'mail'

  constructor(kind: 'usage' | 'mail', message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/** The message of whatever was thrown. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message || thrown.name : String(thrown)
}

/** The system's code of a failed call, such as `ENOENT`. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
