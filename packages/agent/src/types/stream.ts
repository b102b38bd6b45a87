import type { AgentEvent, Decisions, Input, RunResult } from '@provost/core'

/** How an input enters a run: before its next model call, or where it would end. */
export type SendMode = 'steer' | 'queue'

/** How inputs that wait for the end of a run enter: one for each turn, in their order, or all of them in one turn. */
export type FollowUps = 'each' | 'merge'

/** How a run is aborted. Default: at once, with 50 ms for tools; calls that wait for a human are denied. */
export interface AbortOptions {
  /** Ends the run after the current step. Default false: everything stops at once. */
  readonly drain?: boolean
  /** Milliseconds that running tools have to stop by themselves. Default 50. */
  readonly graceMs?: number
  /**
   * What happens to calls that wait for a human, also in children. Default `deny`. `hold` suspends the run instead of
   * ending it: the questions stay open, and calls that do not wait end as aborted.
   */
  readonly onPendingApprovals?: 'deny' | 'hold' | 'fail'
}

/** Requires `context` exactly if a tool or an extension of the agent needs one. */
export type With<Options, App> = unknown extends App
  ? [options?: Options & { readonly context?: unknown }]
  : [options: Options & { readonly context: App }]

/**
 * A run in progress: its events in order, and its result. Iterating is optional.
 *
 * The first iterator receives all events, also after the end of the run. A further one receives the events from its start
 * on; after the end of the run it fails with `stream-consumed`.
 */
export interface AgentStream<Output = string> extends AsyncIterable<AgentEvent> {
  readonly result: Promise<RunResult<Output>>
  /** The output alone; rejects if the run did not complete. */
  readonly output: Promise<Output>
  readonly runId: string
  /**
   * Enters before the next model call; calls that have not started are skipped.
   *
   * @throws ProvostError `invalid-input`, `system-message-refused`
   */
  steer(input: Input): void
  /**
   * Enters when the run would end, in a turn of its own (see `followUps`).
   *
   * @throws ProvostError `invalid-input`, `system-message-refused`
   */
  followUp(input: Input): void
  /** Answers approvals, remote calls and uncertain calls of this run. */
  resolve(decisions: Decisions): Promise<void>
  /** Aborts the run. Resolves when it has ended. */
  abort(options?: AbortOptions): Promise<void>
}
