import type { StandardSchemaV1 } from '@standard-schema/spec'

import type { Fold } from '../log/entry.ts'
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

/** How a tree of runs stands, beside the call that is to be admitted. */
export interface Peers {
  /** Runs that may ask a model, this one included. */
  readonly running: number
  /** Model calls that have set something aside. */
  readonly reserving: number
}

/** What hooks of a session get. */
export interface SessionContext<App = unknown> extends SessionAccess {
  readonly agent: { readonly name: string; readonly description?: string }
  readonly principal?: Principal
  /** Aborted with the run, and where a hook of this extension does not answer within `hookTimeoutMs`. */
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
  /** The runs of its tree in this process. */
  readonly tree: Peers
  readonly tools: readonly ToolInfo[]
  /** The human's own words, also in children. */
  readonly intent: readonly Message[]
  /** The agent's own system prompt, as made for this run; empty where it has none. */
  readonly instructions: string
  readonly view: View
  /** Set when the hooks run again after a decision. */
  readonly approval?: ApprovalDecision
  /** A fold, brought up to date without holding up the process where entries are large. */
  foldInTurns<S>(fold: Fold<S>): MaybePromise<S>
  /**
   * Does work that can pause and gives way to the event loop between its steps. Work without a pause is done at once.
   * Rejects with the reason of `signal` where the run is aborted meanwhile.
   */
  inTurns<T>(work: Steps<T>): MaybePromise<T>
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
  /**
   * Sets aside what a tool call may spend, until the log says what was decided on it. It lives in this process, as the
   * judging does; of several extensions the largest amount counts. `model.call` answers with `reserve` instead.
   * @throws ProvostError `unknown-call` for a call that is not being judged.
   */
  reserve(callId: string, most: Partial<Spending>): void
  /** What was set aside and the log does not count yet, by all extensions: for a call, or for all calls of this run. */
  reserved(callId?: string): Spending
  /**
   * Work that has a time limit of its own, such as a call of another service: `hookTimeoutMs` does not count it.
   *
   * @param work gets a signal that is aborted when its time is over, or with the run.
   * @throws ProvostError `hook-timeout` after `timeoutMs` milliseconds, whether the work heeds its signal or not.
   */
  within<T>(timeoutMs: number, work: (signal: AbortSignal) => MaybePromise<T>): Promise<T>
  /** One model call outside the conversation; its usage counts for the run, and its time not for `hookTimeoutMs`. */
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
