import type { AgentEvent } from '../log/event.ts'
import type { RunResult } from '../log/run.ts'
import type { Message, MessageInit } from '../messages/message.ts'
import type { ModelFailure } from '../messages/model-failure.ts'
import type { ModelSettings, ModelSpec, OneModel } from '../messages/model.ts'
import type { Spending } from '../messages/usage.ts'
import type { ArgumentOrigin } from '../tools/question.ts'
import type { ToolCall, ToolInfo, ToolResult } from '../tools/tool-info.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { JsonObject, MaybePromise } from '../values/json.ts'
import type { Label, LabelInit } from '../values/label.ts'
import type { View, ViewEdit } from './context-view.ts'
import type { ChildResult } from './fan-out.ts'
import type { HookContext, SessionContext } from './hook-context.ts'
import type { TimedOperation } from './operation.ts'

/** Asks a human. Becomes an approval bound to the exact arguments. */
export interface Ask {
  readonly reason: string
  readonly evidence?: unknown
  /** Milliseconds after which it counts as denied. */
  readonly expiresInMs?: number
  /** Offers to approve the same call for the whole session. */
  readonly sticky?: 'session'
  /** Where the arguments come from, shown to the human. */
  readonly origins?: readonly ArgumentOrigin[]
}

/** Ends the run as failed, with this code. */
export interface Stop {
  readonly stop: { readonly code: string; readonly message: string; readonly hint?: string }
}

/** `void` first: a hook that only observes may return nothing. */
export type Answer<T> = MaybePromise<void | undefined | T>

/** A model call before it is made. */
export interface ModelRequest {
  readonly model: string
  /** The model that `model` resolves to. */
  readonly spec: OneModel
  /** The join of everything in the request, ephemeral messages included. */
  readonly label: Label
  readonly messages: readonly Message[]
  readonly tail: readonly MessageInit[]
  readonly tools: readonly ToolInfo[]
  readonly params: ModelSettings
}

/** What `model.request` may change. */
export interface RequestEdit {
  /** Messages after the history, for requests of this run only. */
  readonly tail?: readonly MessageInit[]
  /** Names of the tools to offer, out of those offered so far. */
  readonly tools?: readonly string[]
  /** Names of deferred tools to offer after the others. Tools that an earlier hook removed stay removed. */
  readonly promote?: readonly string[]
  readonly model?: ModelSpec
  readonly params?: ModelSettings
  /**
   * Buffers deltas until `model.response` has checked the whole message. `links` buffers text from the first word on that
   * may be part of a link; the hooks leave the text before it as it is.
   */
  readonly hold?: 'links' | 'text' | 'all'
}

/** A model call after all changes to it, right before it is made: for a step, or for `ctx.generate`. */
export interface PlannedCall {
  readonly id: string
  /** As `provider/model`. */
  readonly model: string
  readonly attempt: number
  /** Made by a hook, with `ctx.generate`. */
  readonly purpose?: 'generated'
  /** Estimated tokens of the request. */
  readonly inputTokens: number
  /** US dollars for a million tokens; absent where the price is unknown. */
  readonly price?: { readonly input: number; readonly output: number }
  readonly params: ModelSettings
}

/** What a `model.call` hook decides on a call. All hooks have to admit it. */
export type AdmissionAnswer =
  | {
      /** Of several hooks the smallest limit applies. */
      readonly maxOutputTokens?: number
      /** The most that the call may spend: reserved until the log counts it. Of several, the largest amount counts. */
      readonly reserve?: Partial<Spending>
    }
  /** Other calls have reserved what it needs. All hooks are asked again when one of those calls ends. */
  | { readonly wait: true }
  | Stop

/** What a `tool.call` hook decides on a call. Deny beats ask, ask beats result. */
export type CallAnswer =
  /** The model receives the reason. `code` is the code of the call's error; default `tool-denied`. */
  | { readonly deny: string; readonly code?: string }
  | { readonly ask: Ask }
  | { readonly result: unknown; readonly label: LabelInit }
  /** An earlier result of this tool for the same input, such as from a cache: used unchanged, with its label. */
  | { readonly replay: Pick<ToolResult, 'value' | 'output' | 'label' | 'fields' | 'details'> }
  /** A JSON object: the complete arguments in place of `call.input`. */
  | { readonly args: object }

/** What a `model.response` hook decides on a response: replace it, ask a human, have the model repair it, or end the run. */
export type ResponseAnswer =
  | { readonly message: MessageInit }
  | { readonly ask: Ask }
  | { readonly repair: string }
  | Stop

/** What a `model.error` hook decides on a failed attempt: retry, use another model, shorten the view, or how to fail. */
export type FailureAnswer =
  | { readonly retryAfterMs: number }
  | { readonly useModel: ModelSpec }
  | { readonly compact: true }
  /** How the run fails if no hook recovers: later hooks are still asked. */
  | { readonly failAs: Pick<ErrorInfo, 'code' | 'message' | 'hint'> }

/** `transfer`: to the target of a handoff. `return`: its answer, back to the caller. */
export type FlowKind = 'transfer' | 'return' | 'tool-in' | 'tool-out' | 'fanout-in' | 'fanout-out'

/** Messages that are about to pass from one agent to another. */
export interface Flow {
  readonly kind: FlowKind
  readonly from: string
  readonly to: string
  readonly payload: readonly Message[]
  readonly label: Label
  readonly callId: string
}

/** What a `handoff` hook decides on these messages: replace them, refuse them, or ask a human. */
export type FlowAnswer =
  | { readonly payload: readonly MessageInit[] }
  | { readonly deny: string }
  | { readonly ask: Ask }

/**
 * The hook table: everything that governs or extends a run uses these hooks. They run in the order of the agent's
 * `extensions`. A hook that returns a decision fails closed when it throws; `run.end` and `event` fail open.
 */
export interface Hooks<App = unknown> {
  /** Once for each session and agent: returns additions to the system prompt, which are logged. */
  'session.start'?(ctx: HookContext<App>): Answer<string | readonly MessageInit[]>
  /**
   * As a run starts, resumes or is handed to the agent: returns text for the system prompt of this run, behind the agent's
   * instructions and as trusted. It is not logged: decide with `ctx.memo` what a resumed run has to repeat.
   */
  'run.start'?(ctx: HookContext<App>): Answer<string | Stop>
  /** For each incoming message: run, steer, queue, child. */
  input?(
    message: Message,
    ctx: HookContext<App>,
  ): Answer<{ message?: MessageInit; tail?: readonly MessageInit[] } | Stop>
  /** Before each model call, after one that was too long, and for `session.compact()`: may edit the view. */
  context?(view: View, ctx: HookContext<App>): Answer<ViewEdit | Stop>
  'model.request'?(request: ModelRequest, ctx: HookContext<App>): Answer<RequestEdit | Stop>
  /** Right before each model call, each attempt and each `ctx.generate` of other extensions. */
  'model.call'?(call: PlannedCall, ctx: HookContext<App>): Answer<AdmissionAnswer>
  'model.error'?(failure: ModelFailure, ctx: HookContext<App>): Answer<FailureAnswer>
  'model.response'?(message: Message, ctx: HookContext<App>): Answer<ResponseAnswer>
  /**
   * Deny beats ask, ask beats result, result beats proceed. Each hook may rewrite the arguments once, and receives those
   * that the hook before it left. Then hooks that left other arguments than the final ones run again, with `ctx.final`.
   */
  'tool.call'?(call: ToolCall<JsonObject>, ctx: HookContext<App>): Answer<CallAnswer>
  /** Every result, from any source. */
  'tool.result'?(result: ToolResult, ctx: HookContext<App>): Answer<ToolResult | Stop>
  handoff?(flow: Flow, ctx: HookContext<App>): Answer<FlowAnswer>
  merge?(children: readonly ChildResult[], ctx: HookContext<App>): Answer<readonly ChildResult[]>
  /** Always called, at least once. After an abort it has the grace of the abort, and at least 500 ms. */
  'run.end'?(result: RunResult<unknown>, ctx: HookContext<App>): unknown
  /** Called when a session is closed. */
  'session.stop'?(ctx: SessionContext<App>): unknown
  event?(event: AgentEvent, ctx: HookContext<App>): unknown
  /** Wraps a run, step, model call or tool: sees its duration and its async context. */
  around?<T>(op: TimedOperation, next: () => Promise<T>, ctx: HookContext<App>): Promise<T>
}

/** The names in {@link Hooks}. */
export type HookName = keyof Hooks
