import { ProvostError } from '@provost/core'

const sniffedBytes = 8192

/** Returns whether bytes are not text: there is a NUL near their start. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, sniffedBytes).includes(0)
}

/**
 * Bytes as text; what is not UTF-8 becomes replacement characters.
 *
 * @throws ProvostError `binary-file`.
 */
export function textIn(bytes: Uint8Array, path: string): string {
  if (isBinary(bytes))
    throw new ProvostError('binary-file', `${JSON.stringify(path)} is a binary file of ${bytes.length} bytes.`, {
      hint: 'Only text can be read. Use a command made for its format.',
    })
  return new TextDecoder().decode(bytes)
}

/** The start and end of a line without its line break. */
export interface Line {
  /** Counts from 1. */
  readonly number: number
  readonly text: string
}

/**
 * Yields the lines of a text without a copy of them. The empty text after a final line break is not a line.
 */
export function* linesOf(text: string): Generator<Line, void, undefined> {
  let number = 0
  for (let from = 0; from < text.length;) {
    const at = text.indexOf('\n', from)
    const end = at === -1 ? text.length : at
    yield { number: ++number, text: text.slice(from, text[end - 1] === '\r' && end > from ? end - 1 : end) }
    from = end + 1
  }
}

/** Returns a path for a listing, quoted if it could forge a line. */
export function shownPath(path: string): string {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path
}

/**
 * Returns the path from the root of a runtime, without `.` and empty parts. A path outside is returned unchanged, to be
 * rejected later.
 */
export function tidyPath(path: string, cwd: string): string {
  const inner = path === cwd ? '' : path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path
  const parts = inner.split('/').filter((part) => part !== '' && part !== '.')
  return `${inner.startsWith('/') ? '/' : ''}${parts.join('/')}` || '.'
}
