import type { StandardSchemaV1 } from '@standard-schema/spec'

import type { NeedsContext, Stated } from './context.ts'
import type { ErrorInfo } from './error.ts'
import { ProvostError } from './error.ts'
import type { AgentEvent, EventPayloads, EventType, ViewTrigger } from './event.ts'
import type { MaybePromise, Timestamp } from './json.ts'
import type { Label, LabelInit } from './label.ts'
import type { Message, MessageInit } from './message.ts'
import type { ModelSettings, ModelSpec, OneModel } from './model.ts'
import type { ApprovalDecision } from './pending.ts'
import type { Principal, RunResult, RunStatus } from './run.ts'
import type { SessionAccess } from './store.ts'
import type { Effect, Tool, ToolCall, ToolInfo, ToolResult } from './tool.ts'
import type { ErrorClass, FinishReason, Grant, Usage, UsageReport } from './usage.ts'

/** Asks a human. Becomes an approval bound to the exact arguments. */
export interface Ask {
  readonly reason: string
  readonly evidence?: unknown
  /** Milliseconds after which it counts as denied. */
  readonly expiresInMs?: number
  /** Offers to approve the same call for the whole session. */
  readonly sticky?: 'session'
}
/** Ends the run as failed, with this code. */
export interface Stop {
  readonly stop: { readonly code: string; readonly message: string }
}

/** What the model is about to see. */
export interface View {
  readonly messages: readonly Message[]
  /** The join over all of it. */
  readonly label: Label
  /** Of the messages, an estimate. */
  readonly tokens: number
  /** Tokens of what is sent beside them, an estimate: the system prompt, the tools, what the run keeps in its tail. */
  readonly overhead: number
  /** `provider/model` of the model that is asked next, unless a `model.request` hook chooses another. */
  readonly model: string
  /** That model's window in tokens, where known. */
  readonly window?: number
  readonly trigger: ViewTrigger
}
/** Replaces a stretch of the view, both ends inclusive. What was said stays in the log. */
export interface ViewEdit {
  /** A message id. */
  readonly from: string
  /** A message id. */
  readonly to: string
  /**
   * What stands there from then on. A message of the stretch that is given again stays what it is; one that is given
   * with its id and other content keeps its id, its role and whoever wrote it.
   */
  readonly with: readonly (MessageInit | Message)[]
  /** Makes it a compaction: emitted as `context.compacted` once the edit stands in the log. */
  readonly compacted?: EventPayloads['context.compacted']
}
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
/** A model that was asked in a step and did not answer. */
export interface FailedAttempt {
  readonly model: string
  /** What `model` names. */
  readonly spec: OneModel
  readonly class: ErrorClass
  /** In the provider's words. */
  readonly message: string
}
/** A failed attempt at a model call. */
export interface ModelFailure {
  readonly class: ErrorClass
  readonly model: string
  /** Counts from 1 in the step. */
  readonly attempt: number
  readonly error: ErrorInfo
  /** What had been said. */
  readonly partial?: Message
  /** The provider executed a tool in it: repeating is not harmless. */
  readonly effects: boolean
  readonly retryAfterMs?: number
  /** The join over all that was sent. */
  readonly label: Label
  /** The attempts of this step in this process, oldest first; this one is the last. */
  readonly tried: readonly FailedAttempt[]
}
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
/** What a model call came to. */
export interface ModelOutcome {
  readonly usage: Usage
  /** US dollars; absent when the price is unknown. */
  readonly cost?: number
  /** What the provider says it answered with, where it says so. */
  readonly responseModel?: string
  /** Absent where it failed. */
  readonly finishReason?: FinishReason
  /** Why there is no whole answer. The message is the provider's. */
  readonly fault?: { readonly class: ErrorClass | 'aborted'; readonly message: string }
}
/** What an `around` hook is around. */
export type Op = { readonly id: string; readonly parent?: string } & (
  | {
      readonly kind: 'run' | 'child'
      readonly runId: string
      readonly agent: string
      /** It goes on, maybe in another process than it began in. */
      readonly resumed?: true
    }
  | { readonly kind: 'step'; readonly step: number }
  | {
      readonly kind: 'model'
      readonly step: number
      readonly model: string
      readonly attempt: number
      readonly settings: ModelSettings
      /** Asked for by a hook, with `ctx.generate`: no part of the conversation. */
      readonly purpose?: 'generated'
      /** There once `next()` has resolved. */
      readonly outcome?: ModelOutcome
    }
  | { readonly kind: 'tool'; readonly callId: string; readonly toolName: string; readonly effect: Effect }
)
/** One kind of what an `around` hook is around. */
export type OpOf<K extends Op['kind']> = Op & { readonly kind: K }

/** What hooks of a session get. */
export interface SessionContext<App = unknown> extends SessionAccess {
  readonly agent: { readonly name: string; readonly description?: string }
  readonly principal?: Principal
  readonly signal: AbortSignal
  /** The app value the run was given; never stored. */
  readonly context: App
  /** Appends an `ext` entry of this extension; `key` makes it idempotent in its step. */
  append(key: string, data: unknown): Promise<void>
  /** A text without the values of known secrets, for what leaves the process by other ways than the log and events. */
  scrub(text: string): string
  now(): Timestamp
  uuid(): string
}
/** Events that extensions may emit with their own payloads. */
export type EmittedByExtensions =
  | 'context.compacted'
  | 'progress.written'
  | 'evaluator.iteration'
  | 'source.cited'
  | 'file.generated'
/** A model call made by a hook. */
export interface GenerateRequest {
  readonly prompt: string | readonly MessageInit[]
  /** Default: the agent's. */
  readonly model?: ModelSpec
  readonly system?: string
  /** Default: the provider's, whatever the agent's are. */
  readonly settings?: ModelSettings
  /** Gives the call up before the run ends. */
  readonly signal?: AbortSignal
}
/** What {@link HookContext.generate} gives. */
export interface Generated<Out = string> {
  readonly text: string
  readonly output: Out
  readonly usage: Usage
  readonly label: Label
}
/** What hooks of a run get: the same for our extensions and for yours. */
export interface HookContext<App = unknown> extends SessionContext<App> {
  readonly run: {
    readonly id: string
    readonly sessionId: string
    readonly rootId: string
    readonly parents: readonly string[]
    readonly step: number
    readonly attempt: number
    readonly principal?: Principal
    readonly grant?: Grant
    /** What is left of the grants of this run and of those above it; absent where nobody set bounds. */
    readonly remaining?: Grant | undefined
  }
  readonly tools: readonly ToolInfo[]
  /** The human's own words, also in children. */
  readonly intent: readonly Message[]
  /** The agent's own system prompt, as made for this run; empty where it has none. */
  readonly instructions: string
  readonly view: View
  /** Set when the hooks run again after a decision. */
  readonly approval?: ApprovalDecision
  /** Runs `fn` once for a key and logs its value; after a crash the logged value comes back. */
  memo<T>(key: string, fn: () => MaybePromise<T>): Promise<T>
  /** Emits an `extension` event under this extension's name. */
  emit(data: unknown): void
  emit<K extends EmittedByExtensions>(type: K, payload: EventPayloads[K]): void
  /** Appends an audit row and emits `governance.<decision>` from it. */
  audit(
    decision: 'flagged' | 'blocked' | 'declassified',
    row: { rule: string; callId?: string; sources: readonly string[]; evidence: unknown },
  ): Promise<void>
  /** One model call outside the conversation; its usage counts for the run. */
  generate(request: GenerateRequest): Promise<Generated>
  generate<O extends StandardSchemaV1>(
    request: GenerateRequest & { readonly output: O },
  ): Promise<Generated<StandardSchemaV1.InferOutput<O>>>
  /**
   * Reports what a listener or callback of yours threw, as an `agent.error` event; nothing is disturbed. You hear of it
   * yourself, unless an `agent.error` is what you were hearing.
   * @param listener what `source.name` says.
   */
  report(thrown: unknown, listener: string): void
  /** The value that ends the run as failed. */
  stop(code: string, message: string): Stop
}

/** `void` first: a hook that only looks may return nothing. */
export type Answer<T> = MaybePromise<void | undefined | T>

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
  around?<T>(op: Op, next: () => Promise<T>, ctx: HookContext<App>): Promise<T>
}
/** The names in {@link Hooks}. */
export type HookName = keyof Hooks

const hookNames: Readonly<Record<HookName, true>> = {
  'session.start': true,
  input: true,
  context: true,
  'model.request': true,
  'model.error': true,
  'model.response': true,
  'tool.call': true,
  'tool.result': true,
  handoff: true,
  merge: true,
  'run.end': true,
  'session.stop': true,
  event: true,
  around: true,
}

/** Knowledge loaded on demand: the model sees `name` and `when`, and asks for the content. */
export interface Skill {
  readonly name: string
  readonly when: string
  readonly content: string | (() => MaybePromise<string>)
  /** Paths of what belongs to it, named to the model with the content. */
  readonly files?: readonly string[]
  /** Gives the text of one of its files. */
  readonly read?: (path: string) => MaybePromise<string>
}

/** What of a run an extension watches with its `around` and `event` hooks. */
export interface Watching {
  readonly ops: readonly Op['kind'][]
  /** All, none, or those of some types, which keep their numbers. */
  readonly events: boolean | readonly EventType[]
}

/** What an extension is made of. */
export interface ExtensionOptions<App = unknown> {
  readonly name: string
  /** `tree` covers children and handoff targets too. Default `agent`. */
  readonly scope?: 'agent' | 'tree'
  /**
   * It only listens to events: no other hooks, no tools. A run can go on where it is missing, as no manifest names it.
   */
  readonly observer?: true
  readonly tools?: readonly Tool<never, unknown, App>[]
  readonly skills?: readonly Skill[]
  /** Once for each agent, before its first run. */
  readonly init?: (agent: { readonly name: string; readonly tools: readonly ToolInfo[] }) => unknown
  /**
   * Asked as each run starts: of what is not watched, `around` and `event` are not told, and the run is spared the work.
   * All other hooks are called in any case. Default: everything is watched.
   */
  readonly watches?: () => Watching
  readonly hooks?: Hooks<App>
}

/** Governs or extends runs. Made by {@link defineExtension}. */
export interface Extension<App = never> extends NeedsContext<App> {
  readonly name: string
  readonly scope: 'agent' | 'tree'
  readonly observer?: true
  readonly tools: readonly Tool[]
  readonly skills: readonly Skill[]
  readonly init?: (agent: { readonly name: string; readonly tools: readonly ToolInfo[] }) => unknown
  readonly watches?: () => Watching
  readonly hooks: Hooks
}

/**
 * Defines an extension. To ask for an app value, write `defineExtension<App>({ … })`, or annotate the `ctx` of the first
 * hook that takes one as `HookContext<App>`.
 *
 * @throws ProvostError `invalid-extension` for a hook that is not in the table, and for an observer that does more.
 *
 * @example
 * const timing = defineExtension({ name: 'timing', hooks: {
 *   async around(op, next) { const t = performance.now(); try { return await next() } finally { log(op.kind, performance.now() - t) } },
 * } })
 */
export function defineExtension<App = unknown>(options: ExtensionOptions<App>): Extension<Stated<App>> {
  const { name, scope = 'agent', observer, tools = [], skills = [], init, watches, hooks = {} } = options
  for (const hook of Object.keys(hooks)) {
    // A policy on a misspelt hook would govern nothing, and nobody would know.
    if (Object.hasOwn(hookNames, hook)) continue
    throw new ProvostError(
      'invalid-extension',
      `Extension ${name} has a hook ${JSON.stringify(hook)}, which nothing calls.`,
      {
        hint: `The hooks are ${Object.keys(hookNames).join(', ')}.`,
      },
    )
  }
  if (observer && (tools.length > 0 || skills.length > 0 || Object.keys(hooks).some((hook) => hook !== 'event'))) {
    throw new ProvostError('invalid-extension', `Extension ${name} is an observer, and does more than listen.`, {
      hint: 'Give it the hook `event` alone, or leave `observer` out.',
    })
  }
  return {
    name,
    scope,
    ...(observer && { observer }),
    tools,
    skills,
    ...(init && { init }),
    ...(watches && { watches }),
    hooks,
  }
}
