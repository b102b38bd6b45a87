import { request as requestHttp } from 'node:http'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'

import { ProvostError } from '@provost/core'

import { showUrl } from './target.ts'
import type { Target } from './target.ts'

const headers = {
  'user-agent': 'provost (web_fetch)',
  accept: 'text/html, application/xhtml+xml, text/plain, application/json;q=0.9, text/*;q=0.8, */*;q=0.1',
  'accept-encoding': 'gzip, deflate, br',
}

/** One answer of a server, its body not read yet. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Reads the decompressed body, at most this many bytes. Called at most once. */
  body(maxBytes: number): Promise<{ readonly bytes: Uint8Array; readonly truncated: boolean }>
  /** Hangs up. */
  close(): void
}

/**
 * Requests one page without following redirects. The connection goes to an address of the target only: the name is not
 * resolved again. No proxy, cookie or open connection is used.
 *
 * @throws ProvostError `fetch-failed`; the signal's reason.
 */
export async function ask({ url, addresses }: Target, signal: AbortSignal): Promise<Answer> {
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options: RequestOptions = { method: 'GET', headers, agent: false, lookup: pinned(addresses), signal }
      const asked = url.protocol === 'https:' ? requestHttps(url, options, resolve) : requestHttp(url, options, resolve)
      asked.once('error', reject).end()
    })
    // Later errors reach the reader of the body.
    response.on('error', () => undefined)
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      close: () => void response.destroy(),
      body: async (maxBytes) => {
        try {
          return await readBody(response, maxBytes)
        } catch (error) {
          throw failed(url, error, signal)
        } finally {
          response.destroy()
        }
      },
    }
  } catch (error) {
    throw failed(url, error, signal)
  }
}

/** Returns the checked addresses, so that no other DNS answer can be used for the connection. */
function pinned(addresses: readonly string[]): LookupFunction {
  const rows = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    const fitting = rows.filter(({ family }) => !options.family || options.family === family)
    const [first] = fitting
    if (!first) callback(Object.assign(new Error('no address of that family'), { code: 'ENOTFOUND' }), '')
    else if (options.all) callback(null, fitting)
    else callback(null, first.address, first.family)
  }
}

async function readBody(response: IncomingMessage, maxBytes: number): ReturnType<Answer['body']> {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const chunks: Uint8Array[] = []
  let length = 0
  let truncated = false
  const decoded = decoder(encoding)
  // Both the compressed and the decompressed body are bounded, against bombs and endless empty streams.
  const raw = Readable.from(
    firstOf(response, maxBytes, () => (truncated = true)),
    { objectMode: false },
  )
  const body: Readable = decoded ? pipeline(raw, decoded, () => undefined) : raw
  try {
    for await (const chunk of body) {
      if (!(chunk instanceof Uint8Array)) continue
      const kept = chunk.subarray(0, maxBytes - length)
      chunks.push(kept)
      length += kept.length
      if (kept.length < chunk.length) {
        truncated = true
        break
      }
    }
  } catch (error) {
    // A compressed body that was cut does not end well; what was unpacked until then is good.
    if (!truncated) throw error
  }
  return { bytes: Buffer.concat(chunks, length), truncated }
}

async function* firstOf(source: Readable, maxBytes: number, onCut: () => void): AsyncGenerator<Uint8Array, void> {
  let room = maxBytes
  for await (const chunk of source) {
    if (!(chunk instanceof Uint8Array)) continue
    if (chunk.length > room) {
      onCut()
      yield chunk.subarray(0, room)
      return
    }
    room -= chunk.length
    yield chunk
  }
}

function decoder(encoding: string): ReturnType<typeof createGunzip> | undefined {
  switch (encoding) {
    case '':
    case 'identity':
      return undefined
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'deflate':
      return createInflate()
    case 'br':
      return createBrotliDecompress()
    default:
      throw new Error(`its content encoding ${JSON.stringify(encoding.slice(0, 40))} is not supported`)
  }
}

function failed(url: URL, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof ProvostError) return error
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const why = code ?? (error instanceof Error ? error.message : String(error))
  return new ProvostError('fetch-failed', `Fetching ${showUrl(url)} failed: ${why}.`, {
    hint: 'The host may be down. Try again later or look elsewhere.',
    cause: error,
  })
}
