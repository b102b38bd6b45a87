import { acceptsGzip, gzipped } from './gzip.ts'

/** Whether the body of a stream is compressed. */
export interface Compression {
  /** The server offers it. */
  readonly offered: boolean
  /** The client accepts it. */
  readonly accepted: boolean
}

export function compressionOf(request: Request, offered: boolean): Compression {
  return { offered, accepted: acceptsGzip(request.headers.get('accept-encoding')) }
}

/** Returns the response with a stream of server-sent events. */
export function streamResponse(
  body: ReadableStream<Uint8Array>,
  { offered, accepted }: Compression,
  headers: Readonly<Record<string, string>>,
): Response {
  const gzip = offered && accepted
  return new Response(gzip ? gzipped(body) : body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...(offered && { vary: 'accept-encoding' }),
      ...(gzip && { 'content-encoding': 'gzip' }),
      ...headers,
    },
  })
}
