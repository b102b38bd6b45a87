import { Hono } from 'hono'

/** A server: a Hono app, which anything that speaks `fetch` can run, and its end. */
export interface Server {
  /** Add routes of your own to it, or mount it in an app of yours. */
  readonly app: Hono
  /** @param env what the host of the server knows of the connection: pass on what Node's adapter of Hono gives. */
  readonly fetch: (request: Request, env?: unknown) => Response | Promise<Response>
  /** Whether requests say who they come from. Without, only this machine may ask. */
  readonly authenticated: boolean
  /**
   * Lets what goes on come to a stop and ends all streams. Runs that are not over by then are left where the next process
   * goes on with them: no tool is cut off in the middle unless it takes longer than the grace. The store stays open.
   *
   * @param options.graceMs milliseconds that runs have to end by themselves. Default 5,000.
   */
  close(options?: { graceMs?: number }): Promise<void>
}
