import type {
  DefinedEvent,
  LabelInit,
  MaybePromise,
  Message,
  MessageInit,
  ModelSettings,
  ModelSpec,
  StandardSchemaV1,
  Tier,
  Tool,
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
  /** The next action: `start-step` or `retry-step` to call the model, `run-tools` or `wait` to execute, `finish` to return. */
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
  /**
   * Calls a tool of the agent, as a step of its own without the model: with hooks, approvals, the ledger of effects and
   * events, and under the limit of steps. Deferred tools need no search. The model sees the call and its result in its next
   * step. Does not throw if the call fails: `outcome` tells.
   *
   * @param tool a tool or its name.
   * @param label of the input; default the view's, because an orchestrator derives the input from the conversation.
   * @throws ProvostError `tool-calls-pending` while calls wait to be executed; `not-json`; `run-over` if the run ends or is
   * suspended meanwhile.
   *
   * @example
   * const { outcome, value } = await run.callTool(weather, { city: 'Oslo' })
   */
  callTool<In, Out, App>(tool: Tool<In, Out, App>, input: In, label?: LabelInit): Promise<ToolResult<Out>>
  callTool(name: string, input: unknown, label?: LabelInit): Promise<ToolResult>
  /** Runs `fn` once per key and logs its value as JSON. After a crash the logged value is returned. */
  memo<T>(key: string, fn: () => MaybePromise<T>): Promise<T>
  /**
   * Emits an event of its own, as `defineEvent` declares it or by its name: an `extension` event with the name
   * `orchestrator`, `event` and the label of the view. It is emitted at least once: an event after the last logged effect may repeat after a crash.
   *
   * @param data any JSON.
   * @throws ProvostError `not-json`, `invalid-event`
   */
  emit<T>(event: DefinedEvent<T> | string, data: NoInfer<T>): void
  /** Emits progress without a name. */
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

/** The extension name of events, memos and authorizations of orchestrators. */
export const orchestratorName = 'orchestrator'
