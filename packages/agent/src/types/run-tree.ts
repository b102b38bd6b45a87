import type { Entry, Grant, Label, Message, Spending } from '@provost/core'
import type { SecretScope } from '@provost/tools'

import type { PendingInputs } from './inputs.ts'
import type { EventBus, LogSnapshot } from './log.ts'
import { RunEnding } from './run-ending.ts'
import type { RunBytes, SessionState } from './session-state.ts'

/** How many bytes a run may make the host work on, and write to its logs. */
export interface ByteLimits {
  readonly hostBytes: number
  readonly logBytes: number
}

/** Counts the bytes of all runs of a tree in this process: children share the limits of their root. */
export interface ByteMeter {
  /** Begins with a root's run. What was counted for another run is forgotten. */
  begin(limits: ByteLimits): void
  /** Says what the log of a run has come to, with its children that have joined. */
  count(runId: string, bytes: RunBytes): void
  /** A child has joined: the log of its parent counts its bytes from now on. */
  joined(runId: string): void
  /** The ending of a run that is about to use so many bytes more; undefined while there is room for them. */
  refusal(more: RunBytes): RunEnding | undefined
}

/** What calls under way in a run may come to spend: set aside before each starts, until the log counts it. */
export interface Reservations {
  /** A model call that may set something aside. `isCounted` says when the log has it. */
  expect(id: string, isCounted: () => boolean): void
  /** @param by of several extensions the largest amount counts. */
  set(id: string, by: string, most: Partial<Spending>): void
  /** The call will spend nothing more. */
  drop(id: string): void
  /** Of one call. */
  of(id: string): Spending
  total(): Spending
  /** How many model calls have set something aside. */
  modelCalls(): number
}

/** What a run has used, with all below it. */
export interface BudgetUsage {
  readonly tokens: number
  /** US dollars; undefined where a price is unknown. */
  readonly cost: number | undefined
  readonly toolCalls: number
  readonly steps: number
}

/** A letter on its way from log to log. */
export interface InFlight {
  readonly to: string
  /** With which it is taken back. */
  readonly signal?: AbortSignal | undefined
  /** Resolves when it is there, or lost. */
  readonly arrived: PromiseWithResolvers<void>
  hasArrived: boolean
}

/** A child that is alive in this process. */
export interface ActiveChild {
  readonly grant?: Grant
  /** It runs. Before, it is being started; afterwards the log of its parent has still to tell of it. */
  runs: boolean
  /** It, and those below it. */
  spent(): BudgetUsage
}

/** What all runs of a tree share in this process, by run id. */
export interface RunTree {
  /** The children of each run that are alive. */
  readonly children: Map<string, ReadonlyMap<string, ActiveChild>>
  /** The logs of children that have not joined, by name. */
  readonly logs: Map<string, SessionState>
  /** What was said to runs below in this process, by token. */
  readonly letters: Map<string, InFlight>
  /** What calls under way have set aside, by run: of all runs that are alive. */
  readonly reservations: Map<string, Reservations>
  /** Called when something that was set aside may have been given back. */
  readonly waiters: Set<() => void>
  /** Counts the calls that have set something aside. */
  taken: number
  readonly meter: ByteMeter
}

/** What a child's run has of the run that spawned it. */
export interface ParentRun {
  /** The child's. */
  readonly runId: string
  readonly log: string
  /** Of the session that all runs above are in, too. */
  readonly sessionId: string
  readonly rootId: string
  /** Run ids from the run above up to the root. */
  readonly parents: readonly string[]
  readonly parentLog: string
  readonly grant?: Grant
  /** Of all that the spawner had been told. */
  readonly label: Label
  /** Where the child's events go as well. */
  readonly above: EventBus
  /** What its tools may be given; all of the tree hide by one scrubber. */
  readonly secrets: SecretScope
  /** What is known of the child's log. */
  readonly known: LogSnapshot
  readonly mailbox: PendingInputs
  /** Somebody can be asked what a tool of the child asks. */
  readonly asks: boolean
  readonly tree: RunTree
  /** The human's own words. */
  intent(): readonly Message[]
  /** What is left of the grants above. */
  remaining(): Grant | undefined
  /** Handoffs of the runs above that have led here. */
  handoffs(): number
  /** Makes sure that the logs above are still this process's. */
  confirm(): Promise<void> | undefined
  /** A step below is complete: so the session is not what its writers die of. */
  steady(): Promise<void>
  /** An entry of the child stands in its log. */
  committed(state: SessionState, entry: Entry): void
}
