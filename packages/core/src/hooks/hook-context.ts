import type { StandardSchemaV1 } from '@standard-schema/spec'

import type { DefinedEvent } from '../log/defined-event.ts'
import type { Fold } from '../log/entry.ts'
import type { EventWith } from '../log/event-traits.ts'
import type { EventPayloads } from '../log/event.ts'
import type { ApprovalDecision } from '../log/pending.ts'
import type { Principal } from '../log/run-status.ts'
import type { SessionAccess } from '../log/store.ts'
import type { Message, MessageInit } from '../messages/message.ts'
import type { ModelSettings, ModelSpec } from '../messages/model.ts'
import type { Grant, Spending, Usage } from '../messages/usage.ts'
import type { ToolInfo } from '../tools/tool-info.ts'
import type { MaybePromise, Timestamp } from '../values/json.ts'
import type { Label } from '../values/label.ts'
import type { Steps } from '../values/steps.ts'
import type { View } from './context-view.ts'
import type { Stop } from './hooks.ts'

/** The state of a tree of runs, apart from the call that asks for admission. */
export interface RunPeers {
  /** Runs that may call a model, this one included. */
  readonly running: number
  /** Model calls that hold a reservation. */
  readonly reserving: number
}

/** What session hooks receive. */
export interface SessionContext<App = unknown> extends SessionAccess {
  readonly agent: { readonly name: string; readonly description?: string }
  readonly principal?: Principal
  /** Aborted with the run, and when a hook of this extension exceeds `hookTimeoutMs`. */
  readonly signal: AbortSignal
  /** The app value of the run; never stored. */
  readonly context: App
  /** Appends an `ext` entry of this extension. `key` makes it idempotent in its step. */
  append(key: string, data: unknown): Promise<void>
  /** Returns the text without the values of known secrets. Use it for output other than the log and events. */
  scrub(text: string): string
  now(): Timestamp
  uuid(): string
}

/** Events that extensions may emit with their own payloads. */
export type EmittedByExtensions = EventWith<'emittable'>['type']

/** A model call made by a hook. */
export interface GenerateRequest {
  readonly prompt: string | readonly MessageInit[]
  /** Default: the agent's. */
  readonly model?: ModelSpec
  readonly system?: string
  /** Default: the provider's, regardless of the agent's. */
  readonly settings?: ModelSettings
  /** Aborts the call before the run ends. */
  readonly signal?: AbortSignal
}

/** The result of {@link HookContext.generate}. */
export interface Generated<Out = string> {
  readonly text: string
  readonly output: Out
  readonly usage: Usage
  readonly label: Label
}

/** What run hooks receive: the same for built-in and custom extensions. */
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
    /** The rest of the grants of this run and of its ancestors; absent where none is set. */
    readonly remaining?: Grant | undefined
  }
  /** The runs of its tree that are in this process. */
  readonly tree: RunPeers
  readonly tools: readonly ToolInfo[]
  /** The messages of the human, also in child runs. */
  readonly intent: readonly Message[]
  /** The agent's own system prompt, as rendered for this run; empty where it has none. */
  readonly instructions: string
  readonly view: View
  /** Set when the hooks run again after a decision. */
  readonly approval?: ApprovalDecision
  /** Set when `tool.call` hooks run again on arguments that are final: deny, ask or give a result. A rewrite is ignored. */
  readonly final?: true
  /** Returns the state of a fold, brought up to date in steps so that large entries do not block the process. */
  foldInTurns<S>(fold: Fold<S>): MaybePromise<S>
  /**
   * Does work that can pause, and yields to the event loop between its steps. Work without a pause is done at once.
   * Rejects with the reason of `signal` when the run is aborted meanwhile, except in a `run.end` hook.
   */
  inTurns<T>(work: Steps<T>): MaybePromise<T>
  /** Runs `fn` once for a key and logs its value. After a crash it returns the logged value. */
  memo<T>(key: string, fn: () => MaybePromise<T>): Promise<T>
  /** Emits an `extension` event under this extension's name. */
  emit(data: unknown): void
  /** The same for an event that `defineEvent` declares: it has its name in `event`. */
  emit<T>(event: DefinedEvent<T>, data: NoInfer<T>): void
  emit<K extends EmittedByExtensions>(type: K, payload: EventPayloads[K]): void
  /** Appends an audit row and emits `governance.<decision>` from it. */
  audit(
    decision: 'flagged' | 'blocked' | 'declassified',
    row: { rule: string; callId?: string; sources: readonly string[]; evidence: unknown },
  ): Promise<void>
  /**
   * Reserves what a tool call may spend until the decision on it is in the log. The reservation lives in this process, as
   * the authorization does; of several extensions the largest amount counts. In `model.call`, return `reserve` instead.
   * @throws ProvostError `unknown-call` for a call that is not being authorized.
   */
  reserve(callId: string, most: Partial<Spending>): void
  /** Reservations of all extensions that the log does not count yet: for a call, or for all calls of this run. */
  reserved(callId?: string): Spending
  /**
   * Runs work with its own time limit, such as a call of another service. `hookTimeoutMs` does not count it.
   *
   * @param work receives a signal that is aborted at the time limit or with the run.
   * @throws ProvostError `hook-timeout` after `timeoutMs` milliseconds, even if the work ignores its signal.
   */
  within<T>(timeoutMs: number, work: (signal: AbortSignal) => MaybePromise<T>): Promise<T>
  /** Calls a model outside the conversation. Its usage counts for the run; its time does not count for `hookTimeoutMs`. */
  generate(request: GenerateRequest): Promise<Generated>
  generate<O extends StandardSchemaV1>(
    request: GenerateRequest & { readonly output: O },
  ): Promise<Generated<StandardSchemaV1.InferOutput<O>>>
  /**
   * Reports what a listener or callback of the extension threw, as an `agent.error` event. The run is not affected. The
   * extension receives the event itself, unless it was handling an `agent.error`.
   * @param listener the value of `source.name`.
   */
  report(thrown: unknown, listener: string): void
  /**
   * Returns the value that ends the run as failed.
   *
   * @param hint what the reader of the error can do. Default: a reference to the extension.
   */
  stop(code: string, message: string, hint?: string): Stop
}
