import type { AgentEvent, Decisions, Input, RunResult } from '@provost/core'

/** How what is said enters a run: before its next model call, or where it would end. */
export type SendMode = 'steer' | 'queue'

/** How a run is aborted. Default: hard, with 50 ms for tools, and what waits for a human is denied. */
export interface AbortOptions {
  /** Lets the present step end first. Default false: everything stops at once. */
  readonly drain?: boolean
  /** Milliseconds that tools in flight have to stop by themselves. Default 50. */
  readonly graceMs?: number
  /** What becomes of calls that wait for a human. Default `deny`; `hold` suspends the run instead of ending it. */
  readonly onPendingApprovals?: 'deny' | 'hold' | 'fail'
}

/** `context` is asked for exactly when a tool or an extension of the agent wants one. */
export type With<Options, App> = unknown extends App
  ? [options?: Options & { readonly context?: unknown }]
  : [options: Options & { readonly context: App }]

/** A run while it goes on: its events in order, and its result. Iterating is optional. */
export interface AgentStream<Output = string> extends AsyncIterable<AgentEvent> {
  readonly result: Promise<RunResult<Output>>
  /** The output alone; rejects when the run did not complete. */
  readonly output: Promise<Output>
  readonly runId: string
  /** Enters before the next model call; calls that have not started are skipped. */
  steer(input: Input): void
  /** Enters when the run would end. */
  followUp(input: Input): void
  /** Answers approvals, remote calls and uncertain calls of this run. */
  resolve(decisions: Decisions): Promise<void>
  /** Resolves when the run has ended. */
  abort(options?: AbortOptions): Promise<void>
}
