/** Limits of a server, in total and for each principal. */
export interface Limits {
  /** Bytes of a request's body. Default 1 MiB. */
  readonly bodyBytes: number
  /** Bytes of a request to `/api/chat`, whose messages have files. Default 16 MiB. */
  readonly chatBytes: number
  /** Bytes of live events queued for a slow reader; one further behind reads the kept events. Default 1 MiB. */
  readonly waitingBytes: number
  /** Events that the process keeps of each active session, for readers that reconnect. Default 2,000. */
  readonly keptEvents: number
  /** Open event streams of one principal. Default 100. */
  readonly connections: number
  /** Concurrent runs of one principal in this process. Default 20. */
  readonly runs: number
  /** Requests of one principal in a minute, also as one burst. Default 600. */
  readonly requestsPerMinute: number
  /** Idle session objects kept in memory. Default 1,000. */
  readonly sessions: number
  /** Tools that a client may send for a session. Default 32. */
  readonly remoteTools: number
  /** Bytes of the definitions of those tools in total. Default 64 KiB. */
  readonly remoteToolBytes: number
  /** Milliseconds between heartbeats on a quiet event stream. Default 15,000. */
  readonly heartbeatMs: number
}

export const defaultLimits: Limits = Object.freeze({
  bodyBytes: 1_048_576,
  chatBytes: 16_777_216,
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
