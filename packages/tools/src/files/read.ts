import type { FileRange, Runtime, Tool } from '@provost/core'
import { z } from 'zod'

import { cut } from '../definition/issues.ts'
import { rich } from '../definition/rich.ts'
import type { Rich } from '../definition/rich.ts'
import { tool } from '../definition/tool.ts'
import { linesOf, textIn } from '../file-search/text.ts'

const maxLines = 2_000
const maxCharacters = 60_000
const maxLineCharacters = 4_000
const maxBytes = 60_000

/** Some lines of a text file. */
export interface ReadLines {
  readonly text: string
  /** The first line of `text`; counts from 1. */
  readonly fromLine: number
  /** The last line of `text`; smaller than `fromLine` when `text` is empty. */
  readonly toLine: number
  readonly totalLines: number
}

/** Some bytes of a text file. */
export interface ReadBytes {
  readonly text: string
  /** The first byte of `text`; counts from 0. */
  readonly fromByte: number
  /** The byte after the last one: where the next read starts, never in the middle of a character. */
  readonly toByte: number
  readonly totalBytes: number
}

/** A stretch of a text file. */
export type ReadResult = ReadLines | ReadBytes

/**
 * Reads a text file or a range of its lines: at most 2,000 lines or 60,000 characters at once. Of a file of any size a
 * range of bytes can be read.
 */
export const readTool: Tool<
  {
    path: string
    fromLine?: number | undefined
    lines?: number | undefined
    fromByte?: number | undefined
    bytes?: number | undefined
  },
  ReadResult,
  unknown
> = tool({
  name: 'read',
  description: `Reads a text file. At most ${maxLines} lines at once; go on with fromLine. Huge files: use fromByte.`,
  effect: 'read',
  sandbox: 'process',
  idempotent: true,
  // The text is bounded before, since a cut would remove the note on how to read on.
  maxResultTokens: 2 * maxCharacters,
  input: z.object({
    path: z.string().describe('Relative to the working directory.'),
    fromLine: z.int().min(1).default(1).describe('The first line; counts from 1.'),
    lines: z.int().min(1).max(maxLines).default(maxLines).describe('How many lines.'),
    fromByte: z.int().min(0).optional().describe('Reads bytes instead of lines; counts from 0.'),
    bytes: z.int().min(1).max(maxBytes).default(maxBytes).describe('How many bytes, with fromByte.'),
  }),
  args: { path: 'selector' },
  async execute({ path, fromLine, lines, fromByte, bytes }, ctx): Promise<Rich<ReadResult>> {
    if (fromByte === undefined) {
      const found = rangeOf(textIn(await ctx.runtime.readFile(path), path), fromLine, lines)
      return rich(found, { content: [{ type: 'text', text: withNote(found) }] })
    }
    const found = await bytesOf(ctx.runtime, path, fromByte, bytes)
    return rich(found, { content: [{ type: 'text', text: withByteNote(found) }] })
  },
})

async function bytesOf(runtime: Runtime, path: string, from: number, count: number): Promise<ReadBytes> {
  const range = runtime.readRange
    ? await runtime.readRange(path, from, from + count)
    : stretchOf(await runtime.readFile(path), from, from + count)
  const { size } = range
  const end = from + range.bytes.length < size ? wholeCharacters(range.bytes) : range.bytes.length
  // One character at least: reading on makes progress.
  const bytes = range.bytes.subarray(0, end === 0 ? range.bytes.length : end)
  return { text: textIn(bytes, path), fromByte: from, toByte: from + bytes.length, totalBytes: size }
}

function stretchOf(bytes: Uint8Array, from: number, to: number): FileRange {
  return { bytes: bytes.subarray(from, to), size: bytes.length }
}

/** Returns the number of bytes before an incomplete UTF-8 character at the end. */
function wholeCharacters(bytes: Uint8Array): number {
  const { length } = bytes
  for (let back = 1; back <= Math.min(4, length); back++) {
    const byte = bytes[length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needs > back ? length - back : length
  }
  return length
}

function withByteNote({ text, fromByte, toByte, totalBytes }: ReadBytes): string {
  if (toByte <= fromByte) return `[The file ends at byte ${totalBytes}.]`
  const next = toByte < totalBytes ? ` Go on with fromByte ${toByte}.` : ''
  return `${text}\n[Bytes ${fromByte} to ${toByte} of ${totalBytes}.${next}]`
}

function rangeOf(text: string, fromLine: number, lines: number): ReadLines {
  const kept: string[] = []
  let room = maxCharacters
  let full = false
  let totalLines = 0
  for (const line of linesOf(text)) {
    totalLines = line.number
    if (full || line.number < fromLine || kept.length === lines) continue
    const shown = cut(line.text, maxLineCharacters)
    // Lines are whole, and there is at least one, so that reading on makes progress.
    full = shown.length > room && kept.length > 0
    if (full) continue
    room -= shown.length
    kept.push(shown)
  }
  return { text: kept.join('\n'), fromLine, toLine: fromLine + kept.length - 1, totalLines }
}

function withNote({ text, fromLine, toLine, totalLines }: ReadLines): string {
  if (totalLines === 0) return '[The file is empty.]'
  if (toLine < fromLine) return `[The file ends at line ${totalLines}.]`
  if (fromLine === 1 && toLine === totalLines) return text
  const next = toLine < totalLines ? ` Go on with fromLine ${toLine + 1}.` : ''
  return `${text}\n[Lines ${fromLine} to ${toLine} of ${totalLines}.${next}]`
}
