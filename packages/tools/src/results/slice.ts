import { ProvostError } from '@provost/core'

/** A range of numbers. Defaults: the start, and as far as one reading goes. */
export interface Range {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** A stretch of a long text. */
export interface Slice {
  readonly text: string
  /** `from` inclusive, `to` exclusive, counted from 0. */
  readonly bytes: { readonly from: number; readonly to: number }
  /** Both inclusive, counted from 1. Present where lines were requested. */
  readonly lines?: { readonly from: number; readonly to: number }
  /** The last of `lines` is incomplete: it continues after the slice. */
  readonly partial?: true
}

/** The most bytes that are read at once. */
export const maxSliceBytes: number = 32_768

const lineFeed = 10

/**
 * Returns the text of a range of bytes. A character belongs to the slice in which it starts, so adjacent slices form
 * the whole.
 */
export function sliceBytes(bytes: Uint8Array, range: Range): Slice {
  const { from, to } = byteRange(range)
  const start = characterStart(bytes, from)
  const end = characterStart(bytes, Math.max(to, start))
  return { text: textOf(bytes.subarray(start, end)), bytes: { from: start, to: end } }
}

/**
 * Returns the bytes of a request that are read at once.
 *
 * @throws ProvostError `invalid-range`
 */
export function byteRange({ from = 0, to = from + maxSliceBytes }: Range): {
  readonly from: number
  readonly to: number
} {
  if (to < from) throw invalidRange(`bytes from ${from} to ${to}`)
  return { from, to: Math.min(to, from + maxSliceBytes) }
}

/**
 * Returns the text of a range of lines with their line ends, LF or CRLF, so adjacent slices form the whole.
 *
 * @throws ProvostError `invalid-range`
 */
export function sliceLines(bytes: Uint8Array, range: Range): Slice {
  const { from: asked = 1, to: last = Number.POSITIVE_INFINITY } = range
  const from = Math.max(1, asked)
  if (last < from) throw invalidRange(`lines from ${asked} to ${last}`)
  const start = lineStart(bytes, from)
  let end = start
  let to = from - 1
  while (to < last && end < bytes.length) {
    const next = lineEnd(bytes, end)
    if (next - start > maxSliceBytes) break
    end = next
    to++
  }
  // Not even one line fits: its start is returned, and the rest is read by bytes.
  const partial = end === start && start < bytes.length
  if (partial) {
    end = characterStart(bytes, start + maxSliceBytes)
    to = from
  }
  return {
    text: textOf(bytes.subarray(start, end)),
    bytes: { from: start, to: end },
    lines: { from, to },
    ...(partial && { partial }),
  }
}

/** Returns the number of lines of a text, including the text after the last line feed. */
export function countLines(bytes: Uint8Array): number {
  let lines = 0
  for (let at = 0; at < bytes.length; at = lineEnd(bytes, at)) lines++
  return lines
}

function lineStart(bytes: Uint8Array, line: number): number {
  let at = 0
  for (let number = 1; number < line && at < bytes.length; number++) at = lineEnd(bytes, at)
  return at
}

/** The position behind the line feed of the line with a byte. */
function lineEnd(bytes: Uint8Array, at: number): number {
  const feed = bytes.indexOf(lineFeed, at)
  return feed < 0 ? bytes.length : feed + 1
}

/** Returns the first start of a character from there on. */
export function characterStart(bytes: Uint8Array, at: number): number {
  let start = Math.min(at, bytes.length)
  while (isContinuation(bytes[start])) start++
  return start
}

/** Returns whether a byte of UTF-8 continues the character before it. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

function invalidRange(what: string): ProvostError {
  return new ProvostError('invalid-range', `There are no ${what}.`, { hint: 'Give a `to` that is not before `from`.' })
}
