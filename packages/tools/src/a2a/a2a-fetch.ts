import { ProvostError } from '@provost/core'

/** Bytes read of one response. */
const maxBytes = 8 * 1024 * 1024

type Headers = Readonly<Record<string, string>>

/**
 * Returns a `fetch` for an untrusted server: it contacts known origins only, follows no redirect and bounds the
 * response.
 */
export function limitedFetch(
  origins: readonly string[],
  headers: Headers | (() => Promise<Headers>) = {},
): typeof fetch {
  const allowed = new Set(origins.map((origin) => new URL(origin).origin))
  return async (input, init) => {
    const request = new Request(input, { ...init, redirect: 'error' })
    const { origin } = new URL(request.url)
    if (!allowed.has(origin)) {
      throw new ProvostError('a2a-refused-address', `The agent's card leads to ${origin}.`, {
        hint: 'If this origin is intended, add it to `origins`.',
      })
    }
    for (const [name, value] of Object.entries(typeof headers === 'function' ? await headers() : headers)) {
      request.headers.set(name, value)
    }
    const response = await fetch(request)
    const { body, status, statusText } = response
    if (!body) return response
    return new Response(body.pipeThrough(limit()), { status, statusText, headers: response.headers })
  }
}

function limit(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let read = 0
  return new TransformStream({
    transform(chunk, controller) {
      read += chunk.byteLength
      if (read <= maxBytes) controller.enqueue(chunk)
      else controller.error(new ProvostError('a2a-too-long', `The agent answered with more than ${maxBytes} bytes.`))
    },
  })
}
