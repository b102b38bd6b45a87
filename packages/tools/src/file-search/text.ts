import { ProvostError } from '@provost/core'

const sniffedBytes = 8192

/** Whether bytes look like anything but text: there is a NUL near their beginning. */
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

/** Where a line begins and ends, its line break left out. */
export interface Line {
  /** Counts from 1. */
  readonly number: number
  readonly text: string
}

/** The lines of a text one by one, without a copy of all of them. The end of the text after a line break is no line. */
export function* linesOf(text: string): Generator<Line, void, undefined> {
  let number = 0
  for (let from = 0; from < text.length;) {
    const at = text.indexOf('\n', from)
    const end = at === -1 ? text.length : at
    yield { number: ++number, text: text.slice(from, text[end - 1] === '\r' && end > from ? end - 1 : end) }
    from = end + 1
  }
}

/** A path for a listing: one that could forge a line of its own is quoted. */
export function shownPath(path: string): string {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path
}

/** The path from the root of a runtime, without `.` and empty parts; what is outside stays as it is, to be refused. */
export function tidyPath(path: string, cwd: string): string {
  const inner = path === cwd ? '' : path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path
  const parts = inner.split('/').filter((part) => part !== '' && part !== '.')
  return `${inner.startsWith('/') ? '/' : ''}${parts.join('/')}` || '.'
}
