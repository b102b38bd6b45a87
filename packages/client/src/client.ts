import type {
  Decisions,
  PendingApproval,
  PendingInput,
  PendingRemoteCall,
  PendingUncertain,
  SessionStatus,
  Timestamp,
} from '@provost/core'
import { toJson } from '@provost/core'

import type { ClientSession, ClientSessionOptions } from './client-session.ts'
import { createClientSession } from './client-session.ts'
import { checkClientOptions, checkDecisions, checkListOptions } from './known-client-options.ts'
import type { ClientOptions } from './transport.ts'
import { createTransport } from './transport.ts'

/** A row of the list of sessions. */
export interface SessionRow {
  readonly id: string
  readonly agent: string
  readonly status: SessionStatus
  readonly updatedAt: Timestamp
}

/** One thing that an operator decides on. */
export type WaitRow = {
  readonly sessionId: string
  readonly agent: string
  /** The id of the session's principal. */
  readonly requester?: string
  readonly updatedAt: Timestamp
  /** The question as one line that is safe to print. */
  readonly text: string
} & (
  | { readonly kind: 'approval'; readonly wait: PendingApproval }
  | { readonly kind: 'input'; readonly wait: PendingInput }
  | { readonly kind: 'uncertain'; readonly wait: PendingUncertain }
  | { readonly kind: 'remote'; readonly wait: PendingRemoteCall }
  | { readonly kind: 'quarantined'; readonly wait?: never }
)

/** A Provost server, as seen from here. */
export interface Client {
  /** A session: a new one, or the one of an id. Nothing is asked before its first call. */
  session(options?: string | ClientSessionOptions): ClientSession
  /** A page of your sessions; `next` is the `after` of the page behind it. */
  sessions(options?: {
    readonly after?: string
    readonly limit?: number
  }): Promise<{ readonly sessions: readonly SessionRow[]; readonly next?: string }>
  /**
   * For operators: a page of what waits for a decision in all sessions; `next` is the `after` of the page behind it. A page
   * may be empty and have a next one.
   *
   * @throws ServerError `not-operator`
   */
  waits(options?: {
    readonly after?: string
    readonly limit?: number
  }): Promise<{ readonly waits: readonly WaitRow[]; readonly next?: string }>
  /**
   * Decides in a session, as its requester, an operator or an approver. The run goes on by itself.
   *
   * @throws ServerError `not-approver`, `already-decided`
   *
   * @example
   * for (const { sessionId, kind, text, wait } of (await client.waits()).waits) {
   *   if (kind === 'approval' && (await confirm(text))) {
   *     await client.decide(sessionId, { approvals: [{ id: wait.id, decision: 'approve' }] })
   *   }
   * }
   */
  decide(sessionId: string, decisions: Decisions): Promise<void>
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
  }
}
