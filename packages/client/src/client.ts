import { toJson } from '@provost/core'

import type { Client, ClientOptions } from './client-options.ts'
import { createClientSession } from './client-session.ts'
import { checkClientOptions, checkDecisions, checkListOptions } from './known-client-options.ts'
import { createTransport } from './transport.ts'

/**
 * Creates the client of a server, for browsers and Node.
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

  async function page<T>(path: string, { after, limit }: { after?: string; limit?: number }): Promise<T> {
    const query = new URLSearchParams({
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit: String(limit) }),
    })
    const answer: T = await (await transport({ path: `${path}?${query}` })).json()
    return answer
  }

  return {
    session: (given = {}) =>
      createClientSession(transport, reconnectMs, typeof given === 'string' ? { id: given } : given),
    async sessions(given = {}) {
      checkListOptions(given)
      return page('/api/agent/sessions', given)
    },
    async waits(given = {}) {
      checkListOptions(given)
      return page('/api/waits', given)
    },
    async decide(sessionId, decisions) {
      checkDecisions(decisions, 'client.decide')
      const path = `/api/agent/session/${encodeURIComponent(sessionId)}/approvals`
      const headers = { 'idempotency-key': crypto.randomUUID() }
      await (await transport({ path, body: toJson(decisions), headers })).body?.cancel()
    },
    async acceptChange(sessionId, change) {
      const path = `/api/agent/session/${encodeURIComponent(sessionId)}/accept`
      const { accepted }: { readonly accepted: boolean } = await (await transport({ path, body: { change } })).json()
      return accepted
    },
  }
}
