import type { ProvostError } from './error.ts'
import type { Json, Timestamp } from './json.ts'
import type { Entry, Manifest } from './log.ts'
import type { Message } from './message.ts'
import type { PendingWork } from './pending.ts'
import type { UsageReport } from './usage.ts'

/** On whose behalf a run acts. */
export interface Principal {
  readonly id: string
  readonly roles?: readonly string[]
  readonly claims?: Json
}

/** How a run ended, or that it waits for somebody: `suspended`. */
export type RunStatus = 'completed' | 'suspended' | 'failed' | 'aborted'
/**
 * How a session stands. `running`: in the list of a store also one whose process has died; of a session object only while the
 * run goes on in this process, else it is `suspended` there. `quarantined`: in the list of a store, a session whose run
 * brought down process after process; an operator releases it.
 */
export type SessionStatus = 'idle' | 'running' | 'suspended' | 'failed' | 'closed' | 'quarantined'

/** A row of a store's list. */
export interface SessionInfo {
  readonly id: string
  readonly agent: string
  readonly status: SessionStatus
  readonly principal?: string
  readonly updatedAt: Timestamp
}

/**
 * Where a run stands: enough to go on with it, here or elsewhere. `JSON.stringify` writes it,
 * `RunState.fromJSON` reads it. With a store that does not outlive the process it carries the entries too.
 */
export interface RunState<out Output = unknown> {
  readonly v: number
  readonly manifest: Manifest
  readonly agent: string
  readonly sig?: string
  readonly cursor: { readonly sessionId: string; readonly runId: string; readonly offset: number }
  readonly entries?: readonly Entry[]
  /** Of the children that are under way, by log. */
  readonly children?: Readonly<Record<string, readonly Entry[]>>
  /** There at compile time only. */
  readonly '~output'?: Output
  toJSON(): Json
}

interface RunReport<Output> {
  /** What the agent said last. */
  readonly text: string
  /** The messages this run added. */
  readonly messages: readonly Message[]
  readonly usage: UsageReport
  /** US dollars; absent when the price of a model is unknown. */
  readonly cost?: number
  readonly pending: PendingWork
  readonly state: RunState<Output>
  readonly runId: string
  readonly sessionId: string
}

/** How a run ended. Only a completed one has an output, only a failed one an error. */
export type RunResult<Output = string> = RunReport<Output> &
  (
    | { readonly status: 'completed'; readonly output: Output; readonly error?: never }
    | { readonly status: 'failed'; readonly output?: never; readonly error: ProvostError }
    | { readonly status: 'suspended' | 'aborted'; readonly output?: never; readonly error?: never }
  )
