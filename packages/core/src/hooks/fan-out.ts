import type { RunStatus } from '../log/run-status.ts'
import type { Input } from '../messages/message.ts'
import type { ModelSpec } from '../messages/model.ts'
import type { Grant, UsageReport } from '../messages/usage.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { MaybePromise } from '../values/json.ts'
import type { Label } from '../values/label.ts'

/** An agent that a composite can start. */
export interface Spawnable<out Output = unknown> {
  readonly name: string
  /** Exists at compile time only. */
  readonly '~output'?: Output
}

/** Where a child may run: in the process of its parent, or on any worker of the store. */
export type ChildPlace = 'here' | 'any'

/** A child of a fan-out: an agent, or a function of this process. */
export type FanOutChild =
  | {
      readonly agent: Spawnable
      readonly input: Input
      /** Unique in the fan-out. Default: its index, from 0. */
      readonly key?: string
    }
  | {
      /** Its name and its key. */
      readonly agentId: string
      /**
       * Resolves with a JSON value. Only the granted time limits the function itself. Agents that it runs with `agent.run` are
       * children of the run that fans out, within the whole grant. While all of them wait for an answer from outside the run
       * may suspend; on resume the function starts again from its beginning.
       */
      readonly invoke: (ctx: { readonly signal: AbortSignal }) => Promise<unknown>
    }

/** How the outputs of the children are merged. */
export type MergeStrategy<T> =
  /** Joins the texts of completed children, in order. Default separator: an empty line. */
  | { readonly kind: 'concat'; readonly separator?: string }
  /** The output of the first that completes; the others are aborted. */
  | { readonly kind: 'first-success' }
  /** An agent, or a model, merges all outputs into one. */
  | { readonly kind: 'judge-merge'; readonly judge: Spawnable<T> | ModelSpec; readonly criteria?: string }
  /** Receives the failed children as well. Called again after a crash. */
  | { readonly kind: 'custom'; readonly merge: (children: readonly ChildResult[]) => MaybePromise<T> }

/** The options of a fan-out: children that run concurrently, and how their outputs are merged. */
export interface FanOut<T = string> {
  readonly children: readonly FanOutChild[]
  readonly mergeStrategy: 'concat' | 'first-success' | MergeStrategy<T>
  /** The budget of each child. */
  readonly perBudget?: Omit<Grant, 'steps'>
  /** How many children run at once. Children that wait for an answer from outside do not count. Default 4. */
  readonly maxConcurrentChildren?: number
  /**
   * `any`: the children may run on any worker, as `where` of `SpawnOptions` says. All of them begin at once, and workers
   * run as many as they have room for. Needs `perBudget`, and agents as children. Default `here`.
   */
  readonly where?: ChildPlace
}

/** The result of one child of a fan-out. */
export interface ChildResult<Out = unknown> {
  readonly key: string
  readonly agent: string
  readonly status: RunStatus
  readonly output?: Out
  readonly text: string
  readonly error?: ErrorInfo
  readonly usage: UsageReport
  readonly cost?: number
  readonly label: Label
}

/** The result of a fan-out. */
export interface FanOutResult<T = string> {
  readonly output: T
  /** All children, in order, including those that failed. */
  readonly children: readonly ChildResult[]
  /** Keys of the children that the output is made from. */
  readonly used: readonly string[]
  /** Usage of the children and the judge. */
  readonly usage: UsageReport
  /** US dollars; absent when the price of a model is unknown. */
  readonly cost?: number
  readonly label: Label
}
