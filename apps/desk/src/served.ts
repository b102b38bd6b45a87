import type { Agent, SessionStore } from 'provost'
import { createServer, serve } from 'provost/server'
import { withTrace } from 'provost/telemetry'

import type { Desk } from './desk.ts'

/** A desk that serves HTTP. */
export interface ServedDesk {
  readonly agent: Agent<string, Desk>
  readonly store: SessionStore
  readonly desk: Desk
  readonly port: number
  /** Stops the server. */
  readonly signal: AbortSignal
  write(text: string): void
}

/**
 * Serves the desk on the loopback interface until the signal. Unfinished and interrupted runs resume at the next start.
 *
 * @returns the exit code.
 */
export async function serveDesk({ agent, store, desk, port, signal, write }: ServedDesk): Promise<number> {
  const server = createServer({ agents: [agent], store, context: () => desk })
  // A run belongs to the trace of the request that starts it.
  const traced = {
    ...server,
    fetch: (request: Request, env?: unknown) =>
      withTrace(Object.fromEntries(request.headers), () => server.fetch(request, env)),
  }
  const listening = await serve(traced, { port })
  write(`${listening.url}
  curl -N ${listening.url}/api/agent/execute -H 'content-type: application/json' -d '{"input":"Handle the mail \\"01-refund-request.eml\\"."}'
  The routes are in ${listening.url}/openapi.json. Ctrl-C ends it.
`)
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  await listening.close({ graceMs: 2_000 })
  return 0
}
