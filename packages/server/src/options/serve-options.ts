/** Options of `serve`. */
export interface ServeOptions {
  /** Port; default 8080. 0 takes a free one. */
  readonly port?: number
  /** Address; default `127.0.0.1`. An address that other machines can reach requires `authenticate`. */
  readonly hostname?: string
  /**
   * Milliseconds for which an idle connection is kept. A load balancer in front needs a shorter idle timeout, or it reuses
   * closed connections. Default 65,000: most load balancers use 60 s.
   */
  readonly keepAliveMs?: number
  /**
   * Milliseconds after which the server closes a connection whose client reads none of the sent data. Default 60,000.
   * Readers of events can reconnect and resume.
   */
  readonly stalledMs?: number
}
