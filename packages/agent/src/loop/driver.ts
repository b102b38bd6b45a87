import type {
  Decisions,
  Entry,
  EventPayloads,
  MaybePromise,
  ModelRequest,
  NewEntry,
  PendingWork,
  ToolCall,
  ToolResult,
} from '@provost/core'

import type { Authorization, StepOutcome } from '../types/loop.ts'
import type { ExecuteOptions, StepRequest } from '../types/orchestrator.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState, Delivered, SessionState } from '../types/session-state.ts'

/** A model call of the loop. */
export interface ModelStep {
  /** Number of the step in the run. A retry has the number of the step that failed. */
  readonly step: number
  /** The request, with the orchestrator's changes. It is built when it is first read. */
  readonly request: ModelRequest
  /** The orchestrator's changes of this step. */
  readonly options: StepRequest
}

/** An authorized call. */
export interface ReadyCall extends ToolCall {
  /** What arrived from outside for the call. It replaces running it. */
  readonly delivery?: Delivered
}

/**
 * Everything that the loop needs from outside, for a program or a test that drives {@link advance} itself. An error of a
 * method rejects the action; another loop over the same log continues from its end.
 */
export interface LoopDriver {
  /**
   * Returns the inputs that arrived: steering before a step. Where the run would end, it returns steering, or else the
   * next queued message (all of them with `followUps: 'merge'`). The loop asks at no other time: a driver that steers
   * during the calls of a step returns results that skip the rest of them. The live driver spares calls that a human
   * approved and calls that have started. Default: none.
   */
  takeInputs?(at: 'step' | 'end'): MaybePromise<readonly NewEntry[]>
  callModel(step: ModelStep): MaybePromise<StepOutcome>
  /**
   * Returns an authorization for each call, in order. A call without one is denied. A call that was approved comes again,
   * with the arguments that the approver edited; a denied one does not.
   */
  authorize(calls: readonly ToolCall[]): MaybePromise<readonly Authorization[]>
  /** Executes calls and returns their results, in any order. A call without a result fails. */
  execute(calls: readonly ReadyCall[]): MaybePromise<readonly ToolResult[]>
  /** Returns decisions on what the run waits for, or suspends the run. */
  awaitDecisions(pending: PendingWork): MaybePromise<Decisions | 'suspend'>
  /** Writes entries to the end of the log. The loop applies them to its state once they are written. */
  append(entries: readonly Entry[]): MaybePromise<unknown>
  /** Emits an `extension` event of an orchestrator. Default: the event is dropped. */
  emit?(event: Readonly<EventPayloads['extension']>): void
}

/**
 * A driver that owns the log: `append` also applies the entries to the state of the loop. A live run has
 * `run/drive-run.ts`, a {@link LoopDriver} is wrapped by `open-loop.ts`, and a replay compares instead of writing.
 */
export interface Driver extends Required<Omit<LoopDriver, 'append' | 'execute'>> {
  append(entries: readonly NewEntry[]): MaybePromise<unknown>
  /** Looks up the outcome of calls during which a process died, and writes what it finds. */
  reconcile(calls: readonly CallState[]): MaybePromise<unknown>
  /** Executes calls and writes their ends. Afterwards each of them is settled, waits or is parked. */
  execute(calls: readonly CallState[]): MaybePromise<unknown>
}

/** A run and its driver. The log is its only memory: a new loop over the same entries continues the run. */
export interface Loop {
  /** The state that the log gives. */
  readonly state: SessionState
  readonly driver: Driver
  /** The agent with which runs of the session begin. */
  readonly entryAgent: ResolvedAgent
  readonly maxSteps: number
  /** The fencing token of the driver's lease. */
  readonly fence: number
  /**
   * Aborted with the run; only orchestrators read it. An abort reaches the loop as an error of a driver method; a live
   * `execute` first gives running tools a grace. The caller of the loop then closes the run (`run/force-close.ts`).
   */
  readonly signal: AbortSignal
  /** The orchestrator's changes of the step and of the execution of its calls. */
  readonly options?: StepRequest
  readonly execution?: ExecuteOptions
}
