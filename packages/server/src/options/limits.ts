/** How much a server takes, from all and from each principal. */
export interface Limits {
  /** Bytes of a request's body. Default 1 MiB. */
  readonly bodyBytes: number
  /** Bytes of live events that may wait for a slow reader; one further behind goes on from what is kept. Default 1 MiB. */
  readonly waitingBytes: number
  /** Events that the process keeps of each session that goes on, for readers who come back. Default 2,000. */
  readonly keptEvents: number
  /** Open event streams of one principal. Default 100. */
  readonly connections: number
  /** Runs of one principal that go on here at the same time. Default 20. */
  readonly runs: number
  /** Requests of one principal in a minute; as many may come at once. Default 600. */
  readonly requestsPerMinute: number
  /** Session objects kept in memory while nothing happens in them. Default 1,000. */
  readonly sessions: number
  /** Tools that a client may bring. Default 32. */
  readonly remoteTools: number
  /** Bytes of the definitions of those tools, together. Default 64 KiB. */
  readonly remoteToolBytes: number
  /** Milliseconds between signs of life on a quiet event stream. Default 15,000. */
  readonly heartbeatMs: number
}

export const defaultLimits: Limits = Object.freeze({
  bodyBytes: 1_048_576,
  waitingBytes: 1_048_576,
  keptEvents: 2_000,
  connections: 100,
  runs: 20,
  requestsPerMinute: 600,
  sessions: 1_000,
  remoteTools: 32,
  remoteToolBytes: 65_536,
  heartbeatMs: 15_000,
})
