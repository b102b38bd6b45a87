import type { DurableEngine, ForkOffers, SessionStore } from '@provost/core'

/** Which sessions a server or a worker takes from the store. */
export interface WorkOptions {
  /** Store of all sessions. For several processes: `postgresStore`, or `sqliteStore` on one machine. */
  readonly store: SessionStore
  /**
   * Sessions that run in this process at once: it takes no more from the store. Default 64. Runs that requests start are
   * counted, and not refused. With 0 it takes none.
   */
  readonly concurrency?: number
  /**
   * Milliseconds between looks at the store for sessions that are due, with up to a fifth more or less. Default 250; 2,000
   * with an `engine`.
   */
  readonly pollMs?: number
  /**
   * Policies and instructions with which operators may continue a fork, by the names that they use: from the console, or with
   * `overrides` of `forkSession`. Give the same to each server and worker of the store: a fork whose override is missing
   * here is not run. Default none.
   *
   * @example
   * createServer({ agents, store, forks: { policies: { strict }, prompts: { brief: 'Answer in one line.' } } })
   */
  readonly forks?: ForkOffers
  /** Distributes the sessions. Default: the store's wake index alone, which also finds what an engine forgets. */
  readonly engine?: DurableEngine
}
