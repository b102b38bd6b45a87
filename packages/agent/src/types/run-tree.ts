import type { Entry, Grant, Label, Message, PartOrigin, Spending } from '@provost/core'
import type { SecretScope } from '@provost/tools'

import type { Inbox } from './inputs.ts'
import type { EventBus, LogSnapshot } from './log.ts'
import { RunEnding } from './run-ending.ts'
import type { RunBytes, SessionState } from './session-state.ts'

/** Limits of the bytes that the host processes for a run, and that the run writes to its logs. */
export interface ByteLimits {
  readonly hostBytes: number
  readonly logBytes: number
}

/** Counts the bytes of all runs of a tree in this process: children share the limits of their root. */
export interface ByteMeter {
  /** Starts counting for a root run. Counts of an earlier run are dropped. */
  begin(limits: ByteLimits): void
  /** Sets the bytes of a run's log, including its completed children. */
  count(runId: string, bytes: RunBytes): void
  /** Reports a completed child: from now on the log of its parent counts its bytes. */
  joined(runId: string): void
  /** Returns the ending of a run that needs this many bytes more; undefined while there is room. */
  refusal(more: RunBytes): RunEnding | undefined
}

/** Amounts that calls in progress may spend: reserved before each starts, until the log counts them. */
export interface Reservations {
  /** Registers a model call that may reserve. `isCounted` returns whether the log has it. */
  expect(id: string, isCounted: () => boolean): void
  /** @param by the extension; the largest amount of all extensions counts. */
  set(id: string, by: string, most: Partial<Spending>): void
  /** Releases the reservation: the call spends nothing more. */
  drop(id: string): void
  /** Returns the reservation of one call. */
  of(id: string): Spending
  total(): Spending
  /** Number of model calls with a reservation. */
  modelCalls(): number
}

/** What a run has used, including its children. */
export interface BudgetUsage {
  readonly tokens: number
  /** US dollars; undefined where a price is unknown. */
  readonly cost: number | undefined
  readonly toolCalls: number
  readonly steps: number
}

/** A child that is active in this process. */
export interface ActiveChild {
  readonly grant?: Grant
  /** It runs. Before, it is starting; afterwards the log of its parent has still to record its end. */
  isRunning: boolean
  /** Usage of the child and its children. */
  spent(): BudgetUsage
}

/** State that all runs of a tree share in this process, by run id. */
export interface RunTree {
  /** The active children of each run. */
  readonly children: Map<string, ReadonlyMap<string, ActiveChild>>
  /** Logs of children that are not complete, by name. */
  readonly childLogs: Map<string, SessionState>
  /** Inboxes of the children that have not ended in this process, by run id. */
  readonly inboxes: Map<string, Inbox>
  /** Reservations of calls in progress, by run, for all active runs. */
  readonly reservations: Map<string, Reservations>
  /** Called when a reservation may have been released. */
  readonly reservationWaiters: Set<() => void>
  /** Number of calls that have made a reservation. */
  reservationCount: number
  readonly meter: ByteMeter
  /** The session that effect keys are unique in: the original of a fork. Set by the root run. */
  effectSession: string
  /** The ledger may know of effects of calls without a key: such a call has ended without an answer, or in a crash. */
  hasOpenEffects: boolean
}

/** What a child's run has of its parent, in whatever process that is. */
export interface ParentRun {
  /** Id of the child's run. */
  readonly runId: string
  readonly log: string
  /** Id of the session that the run belongs to: that of the whole tree, or its own if it may run on any worker. */
  readonly sessionId: string
  readonly rootId: string
  /** Run ids from the run above up to the root. */
  readonly parents: readonly string[]
  readonly parentLog: string
  readonly grant?: Grant
  /** Label of everything that the parent had received. */
  readonly label: Label
  /** Secrets that its tools may receive; all runs of the tree share one scrubber. */
  readonly secrets: SecretScope
  /** The human's own messages. */
  userMessages(): readonly Message[]
  /** What remains of the grants above. */
  remaining(): Grant | undefined
  /** Number of handoffs of the runs above that have led here. */
  handoffs(): number
  /** The parent in this process; absent for a child that may run on any worker. */
  readonly within?: ParentHere
  /** Of a child that may run on any worker. */
  readonly origin?: PartOrigin
}

/** What a child's run has of a parent in the same process. */
export interface ParentHere {
  /** Receives the child's events as well. */
  readonly events: EventBus
  /** The child's log, as far as it is known. */
  readonly snapshot: LogSnapshot
  readonly inbox: Inbox
  /** Whether questions of the child's tools can be answered. */
  readonly canAsk: boolean
  readonly tree: RunTree
  /** Checks that this process still owns the logs above. */
  confirm(): Promise<void> | undefined
  /** Reports a complete step of the child, which resets the takeover count of the session. */
  steady(): Promise<void>
  /** Called when an entry of the child is committed. */
  committed(state: SessionState, entry: Entry): void
}
