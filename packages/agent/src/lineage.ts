import type { Entry, Grant, Label, Message } from '@provost/core'
import type { SecretScope } from '@provost/tools'

import type { ByteMeter } from './byte-meter.ts'
import { createByteMeter } from './byte-meter.ts'
import type { EventHub } from './event-hub.ts'
import type { KnownLog } from './known-log.ts'
import type { LogState } from './log-state.ts'
import type { Mailbox } from './mailbox.ts'
import type { Spent } from './purse.ts'
import type { Reservations } from './reservations.ts'

/** What a child's run has of the run that spawned it. */
export interface Lineage {
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
  readonly above: EventHub
  /** What its tools may be given; all of the tree hide by one scrubber. */
  readonly secrets: SecretScope
  /** What is known of the child's log. */
  readonly known: KnownLog
  readonly mailbox: Mailbox
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
  committed(state: LogState, entry: Entry): void
}

/** What all runs of a tree share in this process, by run id. */
export interface RunTree {
  /** The children of each run that are alive. */
  readonly children: Map<string, ReadonlyMap<string, LiveChild>>
  /** The logs of children that have not joined, by name. */
  readonly logs: Map<string, LogState>
  /** What was said to runs below in this process, by token. */
  readonly letters: Map<string, Transit>
  /** What calls under way have set aside, by run: of all runs that are alive. */
  readonly reservations: Map<string, Reservations>
  /** Called when something that was set aside may have been given back. */
  readonly waiters: Set<() => void>
  /** Counts the calls that have set something aside. */
  taken: number
  readonly meter: ByteMeter
}

/** A letter on its way from log to log. */
export interface Transit {
  readonly to: string
  /** With which it is taken back. */
  readonly signal?: AbortSignal | undefined
  /** Resolves when it is there, or lost. */
  readonly arrived: PromiseWithResolvers<void>
  hasArrived: boolean
}

/** Of a root's run. */
export function createTree(): RunTree {
  return {
    children: new Map(),
    logs: new Map(),
    letters: new Map(),
    reservations: new Map(),
    waiters: new Set(),
    taken: 0,
    meter: createByteMeter(),
  }
}

/** A child that is alive in this process. */
export interface LiveChild {
  readonly grant?: Grant
  /** It runs. Before, it is being started; afterwards the log of its parent has still to tell of it. */
  runs: boolean
  /** It, and those below it. */
  spent(): Spent
}
