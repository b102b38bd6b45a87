import { Hono } from 'hono'

/** A server: a Hono app that any `fetch` host can run, and its shutdown. */
export interface Server {
  /** The Hono app. Add your own routes to it, or mount it in your own app. */
  readonly app: Hono
  /** @param env connection details from the host: pass on the value of Hono's adapter for Node. */
  readonly fetch: (request: Request, env?: unknown) => Response | Promise<Response>
  /**
   * Returns the route that a request took, such as `/api/agent/session/{id}`, once it was answered: for traces and logs, which
   * must not tell ids apart. Undefined for unknown paths.
   */
  readonly routeOf: (request: Request) => string | undefined
  /** Whether `authenticate` is set. Without it, only this machine may send requests. */
  readonly authenticated: boolean
  /** Path of the console, such as `/console/#t=…` with the token of local mode; undefined if the server has none. */
  readonly consolePath: string | undefined
  /**
   * Stops active runs and ends all streams. Unfinished runs stay in the log, and the next process resumes them. A tool is
   * interrupted only if it takes longer than the grace period. The store stays open.
   *
   * @param options.graceMs milliseconds within which runs may finish. Default 5,000.
   */
  close(options?: { graceMs?: number }): Promise<void>
}
