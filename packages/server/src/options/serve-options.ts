/** Where a server listens. */
export interface ServeOptions {
  /** Default 8080; 0 takes a free one. */
  readonly port?: number
  /** Default `127.0.0.1`. One that others can reach needs a server with `authenticate`. */
  readonly hostname?: string
  /**
   * Milliseconds for which a connection without requests is kept. A load balancer in front must keep its own for less, or it meets
   * closed ones now and then. Default 65,000: most of them take 60 s.
   */
  readonly keepAliveMs?: number
  /**
   * Milliseconds after which a connection is cut whose client takes nothing of what waits for it. Default 60,000. Readers of
   * events can come back and go on where they were.
   */
  readonly stalledMs?: number
}
