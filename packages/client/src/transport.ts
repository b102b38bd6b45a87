import type { Json } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { ClientOptions } from './client-options.ts'
import { ServerError } from './server-error.ts'

/** A request to the server. */
export interface Ask {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: Json
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** Sends a request. Rejects with ServerError for an error response, ProvostError `unreachable` without a response. */
export type Transport = (ask: Ask) => Promise<Response>

export function createTransport({ baseUrl, headers, fetch: given }: ClientOptions): Transport {
  const base = baseUrl.replace(/\/+$/u, '')
  const send = given ?? ((url: string, init: RequestInit) => fetch(url, init))

  return async ({ method, path, body, headers: more, signal }) => {
    const own = typeof headers === 'function' ? await headers() : headers
    const response = await reach(() =>
      send(`${base}${path}`, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: { ...own, ...more, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      }),
    )
    if (response.ok) return response
    const said: unknown = await response.json().catch(() => undefined)
    const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
    throw new ServerError(response.status, said, Number.isFinite(wait) ? wait * 1000 : undefined)
  }

  async function reach(ask: () => Promise<Response>): Promise<Response> {
    try {
      return await ask()
    } catch (cause) {
      throw lost(`The server at ${base} cannot be reached.`, cause)
    }
  }
}

/** Returns the error of a missing or incomplete response. */
export function lost(message: string, cause?: unknown): ProvostError {
  return new ProvostError('unreachable', message, {
    hint: 'Check that the server runs, and try again.',
    cause,
    retryable: true,
  })
}
