import { setImmediate as turn } from 'node:timers/promises'

import { ProvostError } from '@provost/core'

import { invalidExport } from '../kit/store-error.ts'

/** Text in pieces: split anywhere, or one line each, with or without its line end. Bytes are UTF-8. */
export type TextPieces = string | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>

/** Lines after which the reader yields to the event loop. */
const linesPerTurn = 10_000

/** Characters of a header line at most. */
const longestHeader = 4096

/**
 * Yields the lines of a text, without their line ends.
 *
 * @param maxBytes bytes of the whole text at most.
 * @throws ProvostError `export-too-big`, `invalid-export` for bytes that are not UTF-8
 */
export async function* linesOf(pieces: TextPieces, maxBytes: number): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let open: string[] = []
  let bytes = 0
  // Whether each piece is a line. A complete header that another piece follows without a line end shows it.
  let bare: boolean | undefined
  let lines = 0
  for await (const piece of typeof pieces === 'string' ? [pieces] : pieces) {
    bytes += typeof piece === 'string' ? piece.length : piece.byteLength
    if (bytes > maxBytes) throw tooBig(maxBytes)
    const text = typeof piece === 'string' ? piece : decoded(decoder, piece)
    if (bare === undefined && open.length > 0 && !/^[\r\n]/.test(text) && text !== '' && isHeader(open)) bare = true
    if (bare) {
      if (open.length > 0) yield withoutEnd(open.join(''))
      open = []
      yield withoutEnd(text)
      continue
    }
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      bare = false
      open.push(text.slice(from, end))
      yield withoutEnd(open.join(''))
      open = []
      from = end + 1
      if (++lines % linesPerTurn === 0) await turn()
    }
    if (from < text.length) open.push(text.slice(from))
  }
  if (open.length > 0) yield withoutEnd(open.join(''))
}

function isHeader(open: readonly string[]): boolean {
  if (!open.at(-1)?.endsWith('}')) return false
  const text = open.join('')
  if (text.length > longestHeader) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function withoutEnd(line: string): string {
  const end = line.endsWith('\n') ? -1 : line.length
  const text = line.slice(0, end)
  return text.endsWith('\r') ? text.slice(0, -1) : text
}

function decoded(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true })
  } catch (cause) {
    throw invalidExport('it is not UTF-8', cause)
  }
}

function tooBig(maxBytes: number): ProvostError {
  return new ProvostError('export-too-big', `The exported session is bigger than ${maxBytes} bytes.`, {
    hint: 'Raise maxBytes if you trust its source.',
  })
}
