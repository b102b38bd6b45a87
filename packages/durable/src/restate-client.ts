import type { WakeOptions } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { Checked } from './restate-options.ts'

/** What this process asks of the Restate server. */
export interface RestateClient {
  /** Queues an invocation of a session. */
  send(sessionId: string, options: WakeOptions, now: number): Promise<void>
  /**
   * Sets the limits of tenants, and registers the address of this process or of its load balancer. Repeats it until it
   * succeeds or the signal aborts.
   *
   * @param onFault receives each reason of a failure once.
   */
  register(url: string, signal: AbortSignal, onFault: (error: unknown) => void): Promise<void>
}

const timeoutMs = 5_000
const registerAgainMs = 500
/** An answer may contain an id of its request, which makes each reason another one. */
const mostReported = 10

/** Returns a client of the server that the options name. */
export function restateClient({ ingress, admin = '', token, service, limits = [] }: Checked): RestateClient {
  const rules = limits.map(({ tenant, concurrency }) => ({ pattern: tenant, limits: { concurrency } }))
  const limited = new Set(limits.map(({ tenant }) => tenant))

  async function call(base: string, method: string, path: string, body: unknown, more: object = {}): Promise<void> {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }), ...more }
    const url = new URL(path, base.endsWith('/') ? base : `${base}/`)
    let refusal: string
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await fetch(url, { method, headers, body: JSON.stringify(body), signal })
      // An answer that is not read keeps its connection from being used again.
      const answer = await response.text()
      if (response.ok) return
      refusal = `${response.status} ${answer.slice(0, 300)}`
    } catch (cause) {
      throw unreachable(base, cause instanceof Error ? cause.message : String(cause), cause)
    }
    throw unreachable(base, refusal)
  }

  return {
    async send(sessionId, { at, key, tenant }, now) {
      const delayMs = at === undefined ? 0 : Math.max(0, Math.ceil(at - now))
      const query = delayMs > 0 ? `?delay=${delayMs}ms` : ''
      const idempotency = key === undefined ? {} : { 'idempotency-key': key }
      // The index of the store names the tenant; other wakes would pass by its limit.
      if (limited.size > 0 && tenant === undefined) return
      const isLimited = tenant !== undefined && limited.has(tenant)
      const path = isLimited
        ? `restate/scope/${encodeURIComponent(tenant)}/send/${service}-limited/advance${query}`
        : `${service}/${encodeURIComponent(sessionId)}/advance/send${query}`
      await call(ingress, 'POST', path, isLimited ? { id: sessionId } : null, idempotency)
    },

    async register(url, signal, onFault) {
      const reported = new Set<string>()
      // The server may start later than this process.
      while (!signal.aborted) {
        try {
          // First: the server applies a rule within about a second.
          if (rules.length > 0) await call(admin, 'PUT', 'limits/rules', rules)
          await call(admin, 'POST', 'deployments', { uri: url, force: true })
          return
        } catch (error) {
          const reason = String(error)
          if (!signal.aborted && reported.size < mostReported && !reported.has(reason)) {
            reported.add(reason)
            onFault(error)
          }
          await new Promise((resolve) => setTimeout(resolve, registerAgainMs).unref())
        }
      }
    },
  }
}

function unreachable(base: string, why: string, cause?: unknown): ProvostError {
  return new ProvostError('engine-unreachable', `The Restate server at ${base} did not accept a request: ${why}.`, {
    hint: 'Check its address and its log. The store finds sessions that are due without it.',
    retryable: true,
    cause,
  })
}
