import type { SessionStatus, Timestamp } from '@provost/core'

import type { ClientSession, ClientSessionOptions } from './client-session.ts'
import { createClientSession } from './client-session.ts'
import { checkClientOptions, checkListOptions } from './known-client-options.ts'
import type { ClientOptions } from './transport.ts'
import { createTransport } from './transport.ts'

/** A row of the list of sessions. */
export interface SessionRow {
  readonly id: string
  readonly agent: string
  readonly status: SessionStatus
  readonly updatedAt: Timestamp
}

/** A Provost server, as seen from here. */
export interface Client {
  /** A session: a new one, or the one of an id. Nothing is asked before its first call. */
  session(options?: string | ClientSessionOptions): ClientSession
  /** A page of your sessions; `next` is the `after` of the page behind it. */
  sessions(options?: {
    readonly after?: string
    readonly limit?: number
  }): Promise<{ readonly sessions: readonly SessionRow[]; readonly next?: string }>
}

/**
 * Makes the client of a server, for browsers and Node.
 *
 * @throws ProvostError `unknown-option`
 *
 * @example
 * const client = createClient({ baseUrl: 'https://agents.example', headers: () => ({ authorization: `Bearer ${token()}` }) })
 * const stream = client.session().execute('Refund order 17')
 * for await (const e of stream) if (e.type === 'text.delta') show(e.delta)
 * console.log((await stream.result).cost)
 */
export function createClient(options: ClientOptions): Client {
  checkClientOptions(options)
  const transport = createTransport(options)
  const { reconnectMs = 60_000 } = options
  return {
    session: (given = {}) =>
      createClientSession(transport, reconnectMs, typeof given === 'string' ? { id: given } : given),
    async sessions(page = {}) {
      checkListOptions(page)
      const { after, limit } = page
      const query = new URLSearchParams({
        ...(after !== undefined && { after }),
        ...(limit !== undefined && { limit: String(limit) }),
      })
      const answer: Awaited<ReturnType<Client['sessions']>> = await (
        await transport({ path: `/api/agent/sessions?${query}` })
      ).json()
      return answer
    },
  }
}
