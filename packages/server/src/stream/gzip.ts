import { once } from 'node:events'
import { constants, createGzip } from 'node:zlib'

/** Whether an `Accept-Encoding` header accepts gzip. */
export function acceptsGzip(header: string | null): boolean {
  const codings = (header ?? '').toLowerCase().split(',')
  return codings.some((coding) => {
    const [name = '', ...parameters] = coding.split(';').map((word) => word.trim())
    return name === 'gzip' && !parameters.some((parameter) => /^q=0(?:\.0*)?$/u.test(parameter))
  })
}

/** A window of 8 KiB: 32 KB of memory for a stream instead of 256 KB. Frames resemble the frames shortly before them. */
const options = { flush: constants.Z_SYNC_FLUSH, windowBits: 13, memLevel: 5, level: 4 }

/** Compresses a body. Each chunk is sent at once, so that compression does not delay it. */
export function gzipped(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const gzip = createGzip(options)
  let chunks: Uint8Array[] = []
  gzip.on('data', (chunk: Uint8Array) => chunks.push(chunk))

  async function next(): Promise<boolean> {
    const { value, done } = await reader.read()
    if (done) {
      gzip.end()
      await once(gzip, 'end')
    } else
      await new Promise<void>((resolve, reject) => gzip.write(value, (error) => (error ? reject(error) : resolve())))
    return done
  }

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const done = await next()
      for (const chunk of chunks) controller.enqueue(chunk)
      chunks = []
      if (done) controller.close()
    },
    async cancel(reason) {
      gzip.destroy()
      await reader.cancel(reason)
    },
  })
}
