import type { Label, SessionAccess, Tool, ToolContext } from '@provost/core'
import { lazily, ProvostError, untrustedLabel } from '@provost/core'
import { z } from 'zod'

import { rich } from '../definition/rich.ts'
import type { Rich } from '../definition/rich.ts'
import { tool } from '../definition/tool.ts'
import { spilledResults } from './handle.ts'
import type { SpilledResult } from './handle.ts'
import type { ResultReader, ResultReaders } from './reader.ts'
import { readFrom, schemeOf } from './reader.ts'
import { byteRange, countLines, maxSliceBytes, sliceBytes, sliceLines } from './slice.ts'
import type { Range, Slice } from './slice.ts'

/** The name of the tool that {@link readResultTool} makes. */
export const readResultName = 'read_result'

/** Bytes of an external resource in which lines are searched. */
const maxLineSearch = 1024 * 1024

/** A slice of a long result, and the length of the whole if known. */
export interface ResultSlice extends Slice {
  readonly totalBytes?: number
  readonly totalLines?: number
}

/** The input of `read_result`: bytes or lines, not both. Default: the start. */
export interface ReadResultInput {
  readonly handle: string
  /** `from` inclusive, from 0; `to` exclusive. */
  readonly bytes?: Range | undefined
  /** Both inclusive, from 1. */
  readonly lines?: Range | undefined
}

const input = lazily(() => {
  const position = z.int().min(0)
  return z.object({
    handle: z.string().min(1).max(4096).describe('As a result gave it.'),
    bytes: z
      .object({ from: position.default(0).describe('From 0.'), to: position.optional().describe('Exclusive.') })
      .optional(),
    lines: z
      .object({ from: position.default(1).describe('From 1.'), to: position.optional().describe('Inclusive.') })
      .optional(),
  })
})

/**
 * Returns the tool that reads slices of spilled results and of resources of `readers`, at most 32,768 bytes at once. A
 * slice has the label of the whole result. With readers its effect is `egress`, since the other side learns the URI.
 */
export function readResultTool(readers: ResultReaders = {}): Tool<ReadResultInput, ResultSlice, unknown> {
  const external = Object.keys(readers).length > 0
  return tool({
    name: readResultName,
    description:
      'Reads a part of a result that was too long to be shown whole, by bytes or by lines. ' +
      `At most ${maxSliceBytes} bytes at once.`,
    effect: external ? 'egress' : 'read',
    idempotent: true,
    modelOnly: true,
    input: input(),
    args: { handle: 'selector' },
    // The limit of its own results is higher than any slice.
    maxResultTokens: 4 * maxSliceBytes,
    async execute(asked, ctx): Promise<Rich<ResultSlice>> {
      const { handle, bytes, lines } = asked
      if (bytes && lines) {
        throw new ProvostError('invalid-range', 'Both bytes and lines were given.', { hint: 'Give one of them.' })
      }
      const spilled = ctx.fold(spilledResults)?.byHandle.get(handle)
      if (spilled) return show(await sliceOf(spilled, bytes, lines, ctx), spilled.label)
      const scheme = schemeOf(handle)
      const reader = scheme !== undefined && Object.hasOwn(readers, scheme) ? readers[scheme] : undefined
      if (!reader) throw unknownHandle(handle)
      return show(await externalSlice(reader, handle, bytes, lines), untrustedLabel(`resource:${scheme}`))
    },
  })
}

async function sliceOf(
  spilled: SpilledResult,
  bytes: Range | undefined,
  lines: Range | undefined,
  ctx: ToolContext,
): Promise<ResultSlice> {
  const whole = await bytesOf(spilled, ctx)
  const slice = lines ? sliceLines(whole, lines) : sliceBytes(whole, bytes ?? {})
  return { ...slice, totalBytes: spilled.bytes, totalLines: spilled.lines }
}

async function bytesOf({ text, hash, handle, toolName }: SpilledResult, access: SessionAccess): Promise<Uint8Array> {
  const bytes = text === undefined ? await access.blob(hash) : Buffer.from(text)
  if (bytes) return bytes
  throw new ProvostError('result-gone', `The bytes of ${handle} are not in this store.`, {
    hint: `Call ${toolName} again if that does no harm.`,
  })
}

async function externalSlice(
  reader: ResultReader,
  uri: string,
  bytes: Range | undefined,
  lines: Range | undefined,
): Promise<ResultSlice> {
  if (!lines) {
    const { from, to } = byteRange(bytes ?? {})
    const read = await readFrom(reader, uri, from, to)
    const text = Buffer.from(read.bytes).toString()
    // Less than requested: the end is reached.
    return { text, bytes: { from: read.from, to: read.to }, ...(read.to < to && { totalBytes: read.to }) }
  }
  const { bytes: head } = await readFrom(reader, uri, 0, maxLineSearch)
  const slice = sliceLines(head, lines)
  if (head.length < maxLineSearch) return { ...slice, totalBytes: head.length, totalLines: countLines(head) }
  if (slice.text === '') {
    throw new ProvostError('invalid-range', `That line is not in the first ${maxLineSearch} bytes.`, {
      hint: 'Read that far by bytes.',
    })
  }
  return slice
}

function unknownHandle(handle: string): ProvostError {
  const quoted = JSON.stringify(handle.length > 100 ? `${handle.slice(0, 100)}…` : handle)
  return new ProvostError('unknown-handle', `There is no result with the handle ${quoted} in this session.`, {
    hint: 'Copy the handle from the result.',
  })
}

function show(slice: ResultSlice, label: Label): Rich<ResultSlice> {
  const note = { type: 'text' as const, text: noteOn(slice) }
  return rich(slice, { label, content: slice.text === '' ? [note] : [{ type: 'text', text: slice.text }, note] })
}

function noteOn({ text, bytes, lines, partial, totalBytes, totalLines }: ResultSlice): string {
  if (text === '') {
    const end = totalLines === undefined ? '' : `: it has ${totalBytes} bytes and ${totalLines} lines`
    return `[Nothing is there${end}.]`
  }
  const of = totalBytes === undefined ? '' : ` of ${totalBytes}`
  const where = lines ? `Lines ${lines.from} to ${lines.to} of ${totalLines ?? 'many'}, ` : ''
  const more = totalBytes === undefined || bytes.to < totalBytes
  const next = lines && !partial ? `lines from ${lines.to + 1}` : `bytes from ${bytes.to}`
  return `[${where}${where ? 'b' : 'B'}ytes ${bytes.from} to ${bytes.to}${of}.${more ? ` Go on with ${next}.` : ' This is the end.'}]`
}
