import type { RunStatus } from '../log/run-status.ts'
import type { Input } from '../messages/message.ts'
import type { ModelSpec } from '../messages/model.ts'
import type { Grant, UsageReport } from '../messages/usage.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { MaybePromise } from '../values/json.ts'
import type { Label } from '../values/label.ts'

/** An agent, as composites start it. */
export interface Spawnable<out Output = unknown> {
  readonly name: string
  /** There at compile time only. */
  readonly '~output'?: Output
}

/** A child of a fan-out: an agent, or work of this process. */
export type FanOutChild =
  | {
      readonly agent: Spawnable
      readonly input: Input
      /** Unique in the fan-out. Default: its number, from 0. */
      readonly key?: string
    }
  | {
      /** Names it, and is its key. */
      readonly agentId: string
      /**
       * Resolves with what can be written as JSON. It is held to the time that is granted, and to nothing else. Agents that
       * it runs with `agent.run` are children of the run that fans out, held to the whole grant; while all of them wait for
       * somebody the run may suspend, and the work is done again from its start when it goes on.
       */
      readonly invoke: (ctx: { readonly signal: AbortSignal }) => Promise<unknown>
    }

/** What becomes of what the children say. */
export type MergeStrategy<T> =
  /** The texts of those that completed, in their order. Separator: an empty line. */
  | { readonly kind: 'concat'; readonly separator?: string }
  /** The output of the first that completes; the others are aborted. */
  | { readonly kind: 'first-success' }
  /** An agent, or a model, makes one answer of all. */
  | { readonly kind: 'judge-merge'; readonly judge: Spawnable<T> | ModelSpec; readonly criteria?: string }
  /** Sees those that failed as well. Called again after a crash. */
  | { readonly kind: 'custom'; readonly merge: (children: readonly ChildResult[]) => MaybePromise<T> }

/** A fan-out: children that run side by side, and what is made of their answers. */
export interface FanOut<T = string> {
  readonly children: readonly FanOutChild[]
  readonly mergeStrategy: 'concat' | 'first-success' | MergeStrategy<T>
  /** What each child may use. */
  readonly perBudget?: Omit<Grant, 'steps'>
  /** Those that wait for somebody outside do not count. Default 4. */
  readonly maxConcurrentChildren?: number
}

/** What one child of a fan-out came to. */
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

/** What a fan-out came to. */
export interface FanOutResult<T = string> {
  readonly output: T
  /** All of them, in their order: those that failed, too. */
  readonly children: readonly ChildResult[]
  /** Keys of those that the output is made of. */
  readonly used: readonly string[]
  /** Of the children and the judge. */
  readonly usage: UsageReport
  /** US dollars; absent when the price of a model is unknown. */
  readonly cost?: number
  readonly label: Label
}
