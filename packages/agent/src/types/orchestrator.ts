import type {
  Json,
  LabelInit,
  MaybePromise,
  Message,
  MessageInit,
  ModelSettings,
  ModelSpec,
  StandardSchemaV1,
  Tier,
  ToolCall,
  ToolInfo,
  ToolResult,
  View,
} from '@provost/core'

import type { NextAction } from './session-state.ts'

/**
 * How a run gets from its input to its answer, as one function. It asks the model, lets its calls run, says something
 * itself, and returns when the last answer stands. It is called once for the input and once more for each input that
 * was queued behind it.
 *
 * After a crash, or when a suspended run is resumed, the function is called again from its start: what the log knows of
 * is given back without being done again, and at the end of the log it goes on. So it has to be the same function of
 * what `run` tells it each time: whatever else it needs (time, chance, the outside) goes through `run.memo`.
 *
 * @example
 * const draftThenCritic: Orchestrator = async (run) => {
 *   await agentic()(run)
 *   await run.say('Criticise this answer as a strict reader would, then write it again.')
 *   await run.model({ tools: [] })
 * }
 */
export type Orchestrator = (run: OrchestratorRun) => Promise<void>

/** A run as its orchestrator sees it. Everything is at the point of the log that the orchestrator has come to. */
export interface OrchestratorRun {
  /** What the model is about to see. */
  readonly view: View
  /** What comes next by itself: `context` or `model` to ask the model, `tools` or `wait` to execute, `end` to return. */
  readonly position: NextAction
  /** The agent's tools. */
  readonly tools: readonly ToolInfo[]
  /** The calls of the last answer that have no result yet, in its order. */
  readonly calls: readonly ToolCall[]
  /** How often the human has steered since the orchestrator was called. */
  readonly steers: number
  /** Aborted with the run. */
  readonly signal: AbortSignal
  /**
   * One step: the model answers, with all hooks, retries and events of any step. What the human steers enters before.
   * An answer that a hook sends back is asked for again; one that waits for a human is waited for.
   *
   * @throws ProvostError `tool-calls-pending` while calls wait to be executed, `nothing-to-answer` when the model has had the
   * last word and is given neither a message nor a tail; `run-over` when the run ends or is suspended in it.
   */
  model(options?: StepOptions): Promise<Message>
  /**
   * Steps whose answer is data: JSON of the schema, validated, with one repair round. Calls that the model makes on its
   * way are executed.
   *
   * @throws ProvostError `output-invalid`, and what {@link OrchestratorRun.model} throws.
   */
  object<S extends StandardSchemaV1>(
    schema: S,
    options?: Omit<StepOptions, 'output'>,
  ): Promise<StandardSchemaV1.InferOutput<S>>
  /**
   * Judges and runs the calls of the last answer: hooks, approvals and remote calls as always. With none it does nothing.
   *
   * @throws ProvostError `run-over` when the run ends or is suspended in it.
   */
  execute(options?: ExecuteOptions): Promise<readonly ToolResult[]>
  /**
   * Puts a message into the history, in the place of the user: the next step answers it. Never taken for the human's own.
   *
   * @param label default the view's: what an orchestrator says is made from what was said so far. Say so where it is not.
   */
  say(content: string, label?: LabelInit): Promise<Message>
  /** Runs `fn` once for a key and logs its value as JSON; after a crash the logged value comes back. */
  memo<T>(key: string, fn: () => MaybePromise<T>): Promise<T>
  /** Shows listeners where the orchestrator stands: an `extension` event under the name `orchestrator`. At least once. */
  emit(data: unknown): void
}

/** What a step does otherwise than the agent's steps. */
export interface StepOptions {
  /** Names of the tools to offer, deferred ones too. Default what any step is offered; calls to others get an error. */
  readonly tools?: readonly string[]
  /** Messages behind the history, for this request only. What says nothing of its label carries the view's. */
  readonly tail?: readonly MessageInit[]
  /** Before the run's and the agent's; a `model.request` hook has the last word. */
  readonly model?: ModelSpec
  /** Which of several models, where they have tiers. Default: what the tools ask for whose results are read. */
  readonly tier?: Tier
  /** Over the run's and the agent's. */
  readonly settings?: ModelSettings
  /** `text`: not the run's answer yet, so it need not fit the agent's output schema. */
  readonly output?: 'text'
}

/** How calls are executed. */
export interface ExecuteOptions {
  /** Ids of the calls to run. Default all; the others are skipped, with a result that says why. */
  readonly only?: readonly string[]
  /** What the model is told of those that are skipped. */
  readonly reason?: string
}

/** A step as the driver is asked for it. */
export interface StepRequest extends Omit<StepOptions, 'output'> {
  /** A schema: the answer is data of its shape, and whoever asked validates it. */
  readonly output?: 'text' | StandardSchemaV1
}

/** A wish of an orchestrator to the loop; each is granted in turn. */
export type Wish =
  | { readonly kind: 'model'; readonly options: StepRequest; readonly granted: PromiseWithResolvers<Message> }
  | {
      readonly kind: 'execute'
      readonly options: ExecuteOptions
      readonly granted: PromiseWithResolvers<readonly ToolResult[]>
    }
  | {
      readonly kind: 'say'
      readonly content: string
      readonly label: LabelInit | undefined
      readonly granted: PromiseWithResolvers<Message>
    }
  | {
      readonly kind: 'memo'
      readonly key: string
      readonly value: Json
      readonly granted: PromiseWithResolvers<Json>
    }
  | { readonly kind: 'emit'; readonly data: Json }
  | { readonly kind: 'returned' }
  | { readonly kind: 'threw'; readonly thrown: unknown }
