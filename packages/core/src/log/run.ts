import type { Message } from '../messages/message.ts'
import type { UsageReport } from '../messages/usage.ts'
import type { ProvostError } from '../values/error.ts'
import type { Json, Timestamp } from '../values/json.ts'
import type { Entry, Manifest } from './entry.ts'
import type { PendingWork } from './pending.ts'
import type { SessionStatus } from './run-status.ts'

/** A row of a store's list. */
export interface SessionInfo {
  readonly id: string
  readonly agent: string
  readonly status: SessionStatus
  readonly principal?: string
  readonly updatedAt: Timestamp
}

/**
 * The state of a run: enough to resume it, here or elsewhere. `JSON.stringify` writes it, `RunState.fromJSON` reads it.
 * With a store that does not outlive the process it contains the entries too.
 */
export interface RunState<out Output = unknown> {
  readonly v: number
  readonly manifest: Manifest
  readonly agent: string
  readonly sig?: string
  readonly cursor: { readonly sessionId: string; readonly runId: string; readonly offset: number }
  readonly entries?: readonly Entry[]
  /** Entries of the children that are running, by log. */
  readonly children?: Readonly<Record<string, readonly Entry[]>>
  /** Exists at compile time only. */
  readonly '~output'?: Output
  toJSON(): Json
}

interface RunReport<Output> {
  /** The last text of the agent. */
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
