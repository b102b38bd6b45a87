import type { MaybePromise } from '@provost/core'
import { ProvostError, toErrorInfo } from '@provost/core'

import { characterStart, isContinuation } from './slice.ts'

/**
 * Reads what the URIs of a scheme name, such as resources of an MCP server.
 *
 * @param range bytes, `from` inclusive, `to` exclusive, counted from 0. Beyond the end, return what exists.
 * @returns the text or the bytes of the range, no more.
 */
export type ResultReader = (
  uri: string,
  range: { readonly from: number; readonly to: number },
) => MaybePromise<string | Uint8Array>

/** Readers by the scheme of the URIs they read, without its colon: `{ docs: (uri, range) => … }`. */
export type ResultReaders = Readonly<Record<string, ResultReader>>

/** Milliseconds a reader may take. */
const readerTimeoutMs: number = 15_000

/** Returns the scheme of a URI, in lower case. */
export function schemeOf(uri: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase()
}

/**
 * Returns the bytes from a reader, cut to whole UTF-8 characters.
 *
 * @throws ProvostError `reader-failed`, `reader-timeout`, `reader-too-much`, `reader-not-text`.
 */
export async function readFrom(
  reader: ResultReader,
  uri: string,
  from: number,
  to: number,
): Promise<{ readonly bytes: Uint8Array; readonly from: number; readonly to: number }> {
  const given = await ask(reader, uri, from, to)
  if (typeof given === 'string') return { bytes: Buffer.from(given), from, to: from + Buffer.byteLength(given) }
  // A character belongs to the slice in which it begins: the first may be the rest of one, the last may lack its rest.
  const start = from === 0 ? 0 : Math.min(characterStart(given, 0), 3)
  const lacking = missingBytes(given)
  const rest = lacking > 0 && given.length === to - from ? await ask(reader, uri, to, to + lacking) : ''
  const bytes = Buffer.concat([given.subarray(start), typeof rest === 'string' ? Buffer.from(rest) : rest])
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new ProvostError('reader-not-text', `${quote(uri)} is not text in UTF-8: it cannot be read here.`, {
      hint: 'Use a tool that is made for such files.',
      cause,
    })
  }
  return { bytes, from: from + start, to: from + start + bytes.length }
}

async function ask(reader: ResultReader, uri: string, from: number, to: number): Promise<string | Uint8Array> {
  const given = await inTime(uri, async () => {
    try {
      return await reader(uri, { from, to })
    } catch (cause) {
      throw new ProvostError('reader-failed', `${quote(uri)} cannot be read: ${toErrorInfo(cause).message}`, { cause })
    }
  })
  if (typeof given !== 'string' && !(given instanceof Uint8Array)) {
    throw new ProvostError(
      'reader-failed',
      `${quote(uri)} cannot be read: its reader returned neither text nor bytes.`,
      {
        hint: 'This is a fault of the reader: the same call will fail again.',
      },
    )
  }
  // A character that begins in the range may end behind it.
  if (given.length > to - from + 3) {
    throw new ProvostError(
      'reader-too-much',
      `The reader of ${quote(uri)} returned ${given.length} bytes for a range of ${to - from}.`,
      { hint: 'This is a fault of the reader: it has to return the requested range.' },
    )
  }
  return given
}

/** Returns the result of a reader within its time limit. */
async function inTime(uri: string, work: () => Promise<unknown>): Promise<unknown> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const message = `${quote(uri)} gave nothing within ${readerTimeoutMs} ms.`
    late.reject(new ProvostError('reader-timeout', message, { hint: 'Ask for fewer bytes, or try again later.' }))
  }, readerTimeoutMs)
  try {
    return await Promise.race([work(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the number of bytes that the last character of a text still needs. */
function missingBytes(bytes: Uint8Array): number {
  let first = bytes.length - 1
  while (first > bytes.length - 4 && isContinuation(bytes[first])) first--
  const lead = bytes[first] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return Math.max(0, length - (bytes.length - first))
}

function quote(uri: string): string {
  return JSON.stringify(uri.length > 200 ? `${uri.slice(0, 200)}…` : uri)
}
