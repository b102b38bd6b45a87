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
 * Defines how a run gets from its input to its answer, as one function. It calls the model, executes tool calls, adds
 * messages, and returns once the last answer is final. It is called once for the input, and once more for each queued
 * input.
 *
 * After a crash, or when a suspended run resumes, the function is called again from its start. Recorded results are
 * returned without repeating the work; at the end of the log the function continues. It must be deterministic: time,
 * randomness and outside data go through `run.memo`.
 *
 * @example
 * const draftThenCritic: Orchestrator = async (run) => {
 *   await agentic()(run)
 *   await run.say('Criticise this answer as a strict reader would, then write it again.')
 *   await run.model({ tools: [] })
 * }
 */
export type Orchestrator = (run: OrchestratorRun) => Promise<void>

/** A run as its orchestrator sees it, at the point of the log that the orchestrator has reached. */
export interface OrchestratorRun {
  /** What the model sees in its next call. */
  readonly view: View
  /** The next action: `context` or `model` to call the model, `tools` or `wait` to execute, `end` to return. */
  readonly position: NextAction
  /** The agent's tools. */
  readonly tools: readonly ToolInfo[]
  /** Calls of the last answer without a result, in its order. */
  readonly calls: readonly ToolCall[]
  /** Number of steering inputs since the orchestrator was called. */
  readonly steers: number
  /** Aborted with the run. */
  readonly signal: AbortSignal
  /**
   * Runs one step: the model answers, with all hooks, retries and events of a step. Steering inputs enter first. An
   * answer that a hook rejects is requested again; an answer that needs approval is waited for.
   *
   * @throws ProvostError `tool-calls-pending` while calls wait to be executed; `nothing-to-answer` if the last message
   * is the model's and no message or tail follows; `run-over` if the run ends or is suspended meanwhile.
   */
  model(options?: StepOptions): Promise<Message>
  /**
   * Runs steps until the answer is JSON of the schema, validated, with one repair round. Tool calls on the way are
   * executed.
   *
   * @throws ProvostError `output-invalid`, and what {@link OrchestratorRun.model} throws.
   */
  object<S extends StandardSchemaV1>(
    schema: S,
    options?: Omit<StepOptions, 'output'>,
  ): Promise<StandardSchemaV1.InferOutput<S>>
  /**
   * Authorizes and runs the calls of the last answer, with hooks, approvals and remote calls. Does nothing without
   * calls.
   *
   * @throws ProvostError `run-over` if the run ends or is suspended meanwhile.
   */
  execute(options?: ExecuteOptions): Promise<readonly ToolResult[]>
  /**
   * Adds a message in the role of the user; the next step answers it. It never counts as the human's own message.
   *
   * @param label default the view's, because an orchestrator derives its text from the conversation. Pass another one
   * otherwise.
   */
  say(content: string, label?: LabelInit): Promise<Message>
  /** Runs `fn` once per key and logs its value as JSON. After a crash the logged value is returned. */
  memo<T>(key: string, fn: () => MaybePromise<T>): Promise<T>
  /** Emits the orchestrator's progress: an `extension` event with the name `orchestrator`. At least once. */
  emit(data: unknown): void
}

/** Changes of one step. */
export interface StepOptions {
  /** Names of the tools to offer, including deferred ones. Default: those of any step. Calls of other tools fail. */
  readonly tools?: readonly string[]
  /** Messages after the history, for this request only. Without a label they carry the view's. */
  readonly tail?: readonly MessageInit[]
  /** Overrides the run's and the agent's model; a `model.request` hook can override it. */
  readonly model?: ModelSpec
  /** The tier, if the model has tiers. Default: the tier that the tools of the last results prefer. */
  readonly tier?: Tier
  /** Override the run's and the agent's settings. */
  readonly settings?: ModelSettings
  /** `text`: not the final answer, so the agent's output schema does not apply. */
  readonly output?: 'text'
}

/** How calls are executed. */
export interface ExecuteOptions {
  /** Ids of the calls to run. Default all. Other calls are skipped, with a result that states the reason. */
  readonly only?: readonly string[]
  /** The reason that the model receives for skipped calls. */
  readonly reason?: string
}

/** The options of a step as the driver receives them. */
export interface StepRequest extends Omit<StepOptions, 'output'> {
  /** A schema: the answer is data of its shape, and the caller validates it. */
  readonly output?: 'text' | StandardSchemaV1
}

/** A command of an orchestrator to the loop. Commands are processed in turn. */
export type OrchestratorCommand =
  | { readonly kind: 'model'; readonly options: StepRequest; readonly completion: PromiseWithResolvers<Message> }
  | {
      readonly kind: 'execute'
      readonly options: ExecuteOptions
      readonly completion: PromiseWithResolvers<readonly ToolResult[]>
    }
  | {
      readonly kind: 'say'
      readonly content: string
      readonly label: LabelInit | undefined
      readonly completion: PromiseWithResolvers<Message>
    }
  | {
      readonly kind: 'memo'
      readonly key: string
      readonly value: Json
      readonly completion: PromiseWithResolvers<Json>
    }
  | { readonly kind: 'emit'; readonly data: Json }
  | { readonly kind: 'returned' }
  | { readonly kind: 'threw'; readonly thrown: unknown }
