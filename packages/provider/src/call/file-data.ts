import type { SharedV4FileData, SharedV4FileDataData, SharedV4FileDataUrl } from '@ai-sdk/provider'
import type { FileSource } from '@provost/core'
import { ProvostError, toBase64 } from '@provost/core'

/** Returns a file in the form of the AI SDK, with the media type of a `data:` URL. */
export interface FileContent<Data = SharedV4FileData> {
  readonly data: Data
  readonly mediaType: string | undefined
}

/**
 * Our file source as the AI SDK's file data.
 *
 * @throws ProvostError `blob-not-loaded` for a blob, `invalid-file-url` for an invalid URL, `invalid-base64`.
 */
export function toFileContent(source: FileSource): FileContent {
  switch (source.type) {
    case 'data':
      return { data: { type: 'data', data: bytesOf(source.data) }, mediaType: undefined }
    case 'text':
      return { data: { type: 'text', text: source.text }, mediaType: undefined }
    case 'reference': {
      const { type: _reserved, ...reference } = source.reference
      return { data: { type: 'reference', reference }, mediaType: undefined }
    }
    case 'url':
      return urlContent(source.url)
    case 'blob':
      throw new ProvostError('blob-not-loaded', `File ${source.hash} is a blob of the store, not its bytes.`, {
        hint: "Read the blob and send the file as { type: 'data', data: <base64> }.",
      })
  }
}

/** Returns whether reasoning may contain such a file: providers accept bytes and URLs there. */
export function isPlain(data: SharedV4FileData): data is SharedV4FileDataData | SharedV4FileDataUrl {
  return data.type === 'data' || data.type === 'url'
}

function urlContent(text: string): FileContent {
  const url = parseUrl(text)
  if (url.protocol !== 'data:') {
    const changed = url.toString() !== text
    return { data: { type: 'url', url, ...(changed && { originalUrl: text }) }, mediaType: undefined }
  }
  const comma = text.indexOf(',')
  const header = text.slice('data:'.length, comma)
  const body = text.slice(comma + 1)
  return {
    data: { type: 'data', data: header.endsWith(';base64') ? bytesOf(body) : base64(decoded(body, text)) },
    mediaType: header.split(';', 1)[0] || undefined,
  }
}

/** Bytes as each provider takes them: some refuse line breaks, or the alphabet for URLs. */
function bytesOf(data: string): string {
  const standard = toBase64(data)
  if (standard !== undefined) return standard
  throw new ProvostError('invalid-base64', 'The bytes of a file are not base64.', {
    hint: "Write them as base64: Buffer.from(bytes).toString('base64').",
  })
}

function decoded(body: string, url: string): string {
  try {
    return decodeURIComponent(body)
  } catch {
    throw invalidUrl(url)
  }
}

function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (url && (url.protocol !== 'data:' || text.includes(','))) return url
  throw invalidUrl(text)
}

function invalidUrl(text: string): ProvostError {
  return new ProvostError('invalid-file-url', `${text.slice(0, 80)} is not the URL of a file.`, {
    hint: 'Give an absolute URL, such as https://… or data:image/png;base64,….',
  })
}

function base64(data: string | Uint8Array | ArrayBuffer): string {
  return typeof data === 'string'
    ? Buffer.from(data, 'utf8').toString('base64')
    : data instanceof Uint8Array
      ? Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
      : Buffer.from(data).toString('base64')
}

/** Everything the AI SDK takes as the data of a file: tagged, or the older bare forms. */
export type AnyFileData =
  | SharedV4FileData
  | { readonly type: 'data'; readonly data: string | Uint8Array | ArrayBuffer }
  | string
  | Uint8Array
  | ArrayBuffer
  | URL
  | Readonly<Record<string, string>>

/**
 * Returns file data of the AI SDK in the form of a message: bytes as base64, URLs as text. A bare string is a URL if it
 * parses as one.
 */
export function fromFileData(data: AnyFileData): FileSource {
  if (typeof data === 'string') return URL.canParse(data) ? { type: 'url', url: data } : { type: 'data', data }
  if (data instanceof URL) return { type: 'url', url: data.toString() }
  if (data instanceof Uint8Array || data instanceof ArrayBuffer) return { type: 'data', data: base64(data) }
  if (isTagged(data)) {
    switch (data.type) {
      case 'data':
        return { type: 'data', data: typeof data.data === 'string' ? data.data : base64(data.data) }
      case 'url':
        return { type: 'url', url: ('originalUrl' in data && data.originalUrl) || data.url.toString() }
      case 'reference':
        return { type: 'reference', reference: { ...data.reference } }
      case 'text':
        return { type: 'text', text: data.text }
    }
  }
  return { type: 'reference', reference: { ...data } }
}

type Tagged = Exclude<Extract<AnyFileData, { readonly type?: unknown }>, Readonly<Record<string, string>>>

function isTagged(data: object): data is Tagged {
  return (
    'type' in data && (data.type === 'data' || data.type === 'url' || data.type === 'reference' || data.type === 'text')
  )
}
