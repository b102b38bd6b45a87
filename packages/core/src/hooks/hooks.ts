import type { AgentEvent } from '../log/event.ts'
import type { RunResult } from '../log/run.ts'
import type { Message, MessageInit } from '../messages/message.ts'
import type { ModelFailure } from '../messages/model-failure.ts'
import type { ModelSettings, ModelSpec, OneModel } from '../messages/model.ts'
import type { Spending } from '../messages/usage.ts'
import type { ArgumentOrigin } from '../tools/question.ts'
import type { ToolCall, ToolInfo, ToolResult } from '../tools/tool-info.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { MaybePromise } from '../values/json.ts'
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
  /** Where the arguments come from, for the human to see. */
  readonly origins?: readonly ArgumentOrigin[]
}

/** Ends the run as failed, with this code. */
export interface Stop {
  readonly stop: { readonly code: string; readonly message: string }
}

/** `void` first: a hook that only looks may return nothing. */
export type Answer<T> = MaybePromise<void | undefined | T>

/** A model call before it is made. */
export interface ModelRequest {
  readonly model: string
  /** What `model` names. */
  readonly spec: OneModel
  /** The join over all that would be sent, the tail included. */
  readonly label: Label
  readonly messages: readonly Message[]
  readonly tail: readonly MessageInit[]
  readonly tools: readonly ToolInfo[]
  readonly params: ModelSettings
}

/** What `model.request` may change. */
export interface RequestEdit {
  /** Messages behind the history, for this run's requests only. */
  readonly tail?: readonly MessageInit[]
  /** Names of the tools to offer, out of those offered so far. */
  readonly tools?: readonly string[]
  /** Names of deferred tools to offer behind the others. What a hook before took away does not come back. */
  readonly promote?: readonly string[]
  readonly model?: ModelSpec
  readonly params?: ModelSettings
  /** Holds deltas back until `model.response` has judged the whole message. */
  readonly hold?: 'text' | 'all'
}

/** A model call that is about to be made, behind all that may still change it: for a step, or for `ctx.generate`. */
export interface PlannedCall {
  readonly id: string
  /** As `provider/model`. */
  readonly model: string
  readonly attempt: number
  /** Asked for by a hook, with `ctx.generate`. */
  readonly purpose?: 'generated'
  /** About how many tokens the request is. */
  readonly inputTokens: number
  /** US dollars for a million tokens; absent where the price is not known. */
  readonly price?: { readonly input: number; readonly output: number }
  readonly params: ModelSettings
}

/** What a `model.call` hook says to a call. All hooks have to admit it. */
export type AdmissionAnswer =
  | {
      /** The least of several holds. */
      readonly maxOutputTokens?: number
      /** The most that the call may spend: set aside until the log counts it. Of several, the largest amount counts. */
      readonly reserve?: Partial<Spending>
    }
  /** Other calls have set aside what it needs. All hooks are asked again when one of them is over. */
  | { readonly wait: true }
  | Stop

/** What a `tool.call` hook says to a call. A deny beats an ask, an ask a result; after other `args` all hooks judge again. */
export type CallAnswer =
  /** The reason is for the model. `code` is the code of the call's error; default `tool-denied`. */
  | { readonly deny: string; readonly code?: string }
  | { readonly ask: Ask }
  | { readonly result: unknown; readonly label: LabelInit }
  /** A result that this tool gave before for the same input: taken over as it is, with its label, as from a cache. */
  | { readonly replay: Pick<ToolResult, 'value' | 'output' | 'label' | 'fields' | 'details'> }
  | { readonly args: unknown }

/** What a `model.response` hook says to an answer: another in its place, ask a human, let the model mend it, or end the run. */
export type ResponseAnswer =
  | { readonly message: MessageInit }
  | { readonly ask: Ask }
  | { readonly repair: string }
  | Stop

/** What a `model.error` hook says to a failed attempt: try again, try another, make it shorter, or how to fail. */
export type FailureAnswer =
  | { readonly retryAfterMs: number }
  | { readonly useModel: ModelSpec }
  | { readonly compact: true }
  /** What the run ends with should nobody know a remedy: those after this hook are asked all the same. */
  | { readonly failAs: Pick<ErrorInfo, 'code' | 'message' | 'hint'> }

/** `transfer` is the way to the target of a handoff, `return` the way back of its answer. */
export type FlowKind = 'transfer' | 'return' | 'tool-in' | 'tool-out' | 'fanout-in' | 'fanout-out'

/** Messages about to cross from one agent to another. */
export interface Flow {
  readonly kind: FlowKind
  readonly from: string
  readonly to: string
  readonly payload: readonly Message[]
  readonly label: Label
  readonly callId: string
}

/** What a `handoff` hook says to what is about to cross: something else in its place, no, or ask a human. */
export type FlowAnswer =
  | { readonly payload: readonly MessageInit[] }
  | { readonly deny: string }
  | { readonly ask: Ask }

/**
 * The hook table: everything that governs or extends a run hangs here. Hooks run in the order of the agent's
 * `extensions`. One that can answer fails closed when it throws; `run.end` and `event` fail open.
 */
export interface Hooks<App = unknown> {
  /** Once for each session and agent: more system prompt, logged. */
  'session.start'?(ctx: HookContext<App>): Answer<string | readonly MessageInit[]>
  /** Every entering message: run, steer, queue, child. */
  input?(
    message: Message,
    ctx: HookContext<App>,
  ): Answer<{ message?: MessageInit; tail?: readonly MessageInit[] } | Stop>
  /** Before each model call, after one that was too long, and for `session.compact()`: may cut the view. */
  context?(view: View, ctx: HookContext<App>): Answer<ViewEdit | Stop>
  'model.request'?(request: ModelRequest, ctx: HookContext<App>): Answer<RequestEdit | Stop>
  /** Right before each model call, each attempt and each `ctx.generate` of other extensions. */
  'model.call'?(call: PlannedCall, ctx: HookContext<App>): Answer<AdmissionAnswer>
  'model.error'?(failure: ModelFailure, ctx: HookContext<App>): Answer<FailureAnswer>
  'model.response'?(message: Message, ctx: HookContext<App>): Answer<ResponseAnswer>
  /** Deny beats ask beats result beats proceed; rewritten arguments are judged again by all. */
  'tool.call'?(call: ToolCall, ctx: HookContext<App>): Answer<CallAnswer>
  /** Every result, whoever gave it. */
  'tool.result'?(result: ToolResult, ctx: HookContext<App>): Answer<ToolResult | Stop>
  handoff?(flow: Flow, ctx: HookContext<App>): Answer<FlowAnswer>
  merge?(children: readonly ChildResult[], ctx: HookContext<App>): Answer<readonly ChildResult[]>
  /** Always, at least once. */
  'run.end'?(result: RunResult<unknown>, ctx: HookContext<App>): unknown
  /** When a session is closed. */
  'session.stop'?(ctx: SessionContext<App>): unknown
  event?(event: AgentEvent, ctx: HookContext<App>): unknown
  /** Around a run, step, model call or tool: sees its time and its async context. */
  around?<T>(op: TimedOperation, next: () => Promise<T>, ctx: HookContext<App>): Promise<T>
}

/** The names in {@link Hooks}. */
export type HookName = keyof Hooks
