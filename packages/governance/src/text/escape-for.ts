import { assertNever } from '@provost/core'

import { breaksLine, onOneLine } from './header-break.ts'

/** The place that a text is inserted into, which decides the characters to escape. */
export type Boundary =
  | 'http-header'
  | 'mail-header'
  | 'sse'
  | 'shell'
  | 'sql-like'
  | 'html'
  | 'markdown-image'
  | 'terminal'
  | 'json'
  | 'log-line'

const known: Readonly<Record<Boundary, true>> = {
  'http-header': true,
  'mail-header': true,
  sse: true,
  shell: true,
  'sql-like': true,
  html: true,
  'markdown-image': true,
  terminal: true,
  json: true,
  'log-line': true,
}

/** The names of all places that a text can be escaped for. */
export const boundaryNames: readonly string[] = Object.keys(known)

/** C0 without tab and line feed, DEL and C1. */
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const controls = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g
/** Matches characters that reorder or hide text, and line separators of Unicode. */
const deceptive = /[\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E0FFF}]/gu

/**
 * Returns a text escaped for one place. The result cannot end a line, a field, a quotation or an element there. It cannot
 * move a cursor or reorder text.
 *
 * - `http-header`: the value of one header; other scripts become percent escapes.
 * - `mail-header`: one line in any script, such as a subject or a name; also without escaped line breaks and those in
 *   encoded words.
 * - `sse`: the value of `data:` fields, one field for each line.
 * - `shell`: one word for a POSIX shell, in single quotes.
 * - `sql-like`: the inside of a quoted LIKE pattern with `ESCAPE '\'`; use parameters where you can.
 * - `html`: text or the value of a quoted attribute.
 * - `markdown-image`: Markdown without images, links and elements.
 * - `terminal`: text for a terminal; control characters become visible escapes.
 * - `json`: the inside of a JSON string, also within a script element.
 * - `log-line`: one line; line breaks and invisible characters become escapes.
 *
 * @example
 * escapeFor('http-header', 'ok\nset-cookie: a=b') // 'ok set-cookie: a=b'
 */
export function escapeFor(boundary: Boundary, text: string): string {
  switch (boundary) {
    case 'http-header':
      return onOneLine(
        text
          .toWellFormed()
          .replaceAll(/[\t\n]|\r\n?/g, ' ')
          .replaceAll(controls, '')
          .replaceAll(deceptive, '')
          .replaceAll(/[^ -~]+/g, encodeURIComponent),
      ).trim()
    case 'mail-header':
      return onOneLine(text.replaceAll(/\r\n/g, ' ')).trim()
    case 'sse':
      return text
        .replaceAll(/\r\n|[\r\n\u0085\u2028\u2029]/g, '\n')
        .replaceAll(controls, '')
        .replaceAll(deceptive, '')
        .replaceAll('\n', '\ndata: ')
    case 'shell':
      return `'${text
        .replaceAll(controls, '')
        .replaceAll(deceptive, '')
        .replaceAll("'", String.raw`'\''`)}'`
    case 'sql-like':
      return text
        .replaceAll(controls, '')
        .replaceAll(/[\\%_]/g, String.raw`\$&`)
        .replaceAll("'", "''")
    case 'html':
      return text
        .replaceAll(controls, '')
        .replaceAll(deceptive, '')
        .replaceAll(/[&<>"'`=]/g, (char) => `&#${char.charCodeAt(0)};`)
    case 'markdown-image':
      return (
        text
          .replaceAll(controls, '')
          .replaceAll(deceptive, '')
          .replaceAll(/[\\!()[\]]/g, String.raw`\$&`)
          .replaceAll('<', '&lt;')
          // A bare address becomes a link, and a link may be fetched to be shown.
          .replaceAll(/:(?=\/\/)/g, '&#58;')
      )
    case 'terminal':
      return text.replaceAll(controls, writtenOut).replaceAll(deceptive, writtenOut)
    case 'json':
      return JSON.stringify(text)
        .slice(1, -1)
        .replaceAll(/[<>\u007F-\u009F]/g, unicodeEscape)
        .replaceAll(deceptive, unicodeEscape)
    case 'log-line':
      return text
        .replaceAll('\\', String.raw`\\`)
        .replaceAll('\n', String.raw`\n`)
        .replaceAll(controls, writtenOut)
        .replaceAll(deceptive, writtenOut)
    default:
      return assertNever(boundary)
  }
}

/**
 * Returns whether a text is safe in a place without escaping. The result of {@link escapeFor} is always safe.
 */
export function isSafeFor(boundary: Boundary, text: string): boolean {
  if (boundary === 'mail-header') return !breaksLine(text)
  if (text.search(controls) >= 0) return false
  if (boundary !== 'sql-like' && text.search(deceptive) >= 0) return false
  switch (boundary) {
    case 'http-header':
      return /^[ -~]*$/.test(text) && !breaksLine(text)
    case 'sse':
      return text.split('\n').every((line, n) => n === 0 || line.startsWith('data: '))
    case 'shell':
      return /^(?:[\w@%+=:,./-]+|'(?:[^']|'\\'')*')$/.test(text)
    case 'sql-like':
      return !/[%_\\']/.test(text.replaceAll(/\\[\\%_]|''/g, ''))
    case 'html':
      return !/[<>"'`]|&(?!#?\w{1,31};)/.test(text)
    case 'markdown-image':
      return !/<|:\/\/|[![\]()]/.test(text.replaceAll(/\\[\\!()[\]]/g, ''))
    case 'terminal':
      return true
    case 'json':
      return !/["\n\t]|\\(?!["\\/bfnrtu])/.test(text.replaceAll(/\\["\\]/g, ''))
    case 'log-line':
      return !/\n/.test(text)
    default:
      return assertNever(boundary)
  }
}

function writtenOut(char: string): string {
  const point = char.codePointAt(0) ?? 0
  if (point === 13) return String.raw`\r`
  return point < 0x100 ? `\\x${point.toString(16).padStart(2, '0')}` : `\\u{${point.toString(16)}}`
}

function unicodeEscape(char: string): string {
  return Array.from({ length: char.length }, (_, n) => `\\u${char.charCodeAt(n).toString(16).padStart(4, '0')}`).join(
    '',
  )
}
