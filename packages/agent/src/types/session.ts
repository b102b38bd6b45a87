import type {
  AgentEvent,
  Answer,
  Decisions,
  EventOf,
  EventType,
  Extension,
  Input,
  MaybePromise,
  Message,
  MessageInit,
  ModelSettings,
  ModelSpec,
  OnApproval,
  OnInput,
  PendingWork,
  Principal,
  RunResult,
  SessionStatus,
  SessionStore,
  ToolCall,
  UsageReport,
} from '@provost/core'

import type { AbortOptions, AgentStream, SendMode, With } from './stream.ts'

/** How one run is made. */
export interface RunOptions {
  /** Runs in this session, which has to be of this agent. Its listeners hear of the run. */
  readonly session?: Session<unknown, never> | undefined
  /** Continues the session of this id, or begins it. Default: a new one. */
  readonly sessionId?: string | undefined
  readonly principal?: Principal | undefined
  /** Aborts the run, as `stream.abort()` does. */
  readonly signal?: AbortSignal | undefined
  /** Asked for each approval while the run is alive; without an answer the run is suspended. */
  readonly onApproval?: OnApproval | undefined
  /** Asked for each question of a running tool, such as one of an MCP server; others may answer it too. */
  readonly onInput?: OnInput | undefined
  /** Instead of the agent's. */
  readonly model?: ModelSpec | undefined
  /** Over the agent's. */
  readonly settings?: ModelSettings | undefined
  /** Instead of the agent's. */
  readonly maxSteps?: number | undefined
  /** Instead of the agent's. Of a child the limits of its root count. */
  readonly hostBytes?: number | undefined
  /** Instead of the agent's. */
  readonly logBytes?: number | undefined
  /** Asked before each step and between tools: what it returns enters before the next model call. */
  readonly getSteering?: (() => MaybePromise<readonly Input[]>) | undefined
  /** Asked when the run would end: what it returns goes on with it. */
  readonly getFollowUp?: (() => MaybePromise<readonly Input[]>) | undefined
}

/** How a run is resumed. */
export type ResumeOptions = RunOptions & Decisions

/** Options of any run, its app value untyped: the agent's type has checked it. */
export type Given = ResumeOptions & { readonly context?: unknown }

/** How a session is opened. */
export interface SessionOptions {
  /** Default: the agent's. */
  readonly store?: SessionStore | undefined
  /** How `send` enters a run that goes on. Default: the agent's, else `steer`. */
  readonly sendMode?: SendMode | undefined
  /** On whose behalf its runs act. Default for a session that is resumed: whose it was when it was created. */
  readonly principal?: Principal | undefined
  /** Asked for each approval while a run is alive; without an answer the run is suspended. */
  readonly onApproval?: OnApproval | undefined
  /** Asked for each question of a running tool, such as one of an MCP server; others may answer it too. */
  readonly onInput?: OnInput | undefined
  /**
   * For the runs of this object, behind the agent's own, with their tools; those with the scope `tree` govern fan-outs and
   * evaluator-optimizers for it, too. Nothing remembers them: give them again when resuming.
   */
  readonly extensions?: readonly Extension[] | undefined
}

/** A listener for each type of event. */
export type EventListeners = { [K in EventType]: (event: EventOf<K>) => unknown }

/** Events, and two names that are not events: `tool.call` answers, `*` gets everything. */
export interface SessionListeners extends EventListeners {
  /** Asked before a call runs, whichever agent makes it. The first answer wins; one that throws denies. */
  'tool.call': (call: ToolCall) => Answer<{ deny: string } | { args: unknown }>
  '*': (event: AgentEvent) => unknown
}

/**
 * What the model sees of a session: a list to read, with edits that keep it whole. Each edit is checked at once and
 * throws ProvostError `invalid-messages`, with the indices and the reasons, where it would not leave a well-formed
 * history: the user speaks first, every call has exactly one result, no result is without its call, and system
 * messages stay where they come from. What was said stays in the log. While a run goes on, or waits, edits throw
 * `session-open`. Writing to the list itself throws `guarded-messages`.
 *
 * @example
 * session.messages.replace(message.id, { role: 'user', content: 'what I meant' })
 */
export interface Messages extends ReadonlyArray<Message> {
  append(...messages: readonly MessageInit[]): void
  /** As `Array.prototype.splice`, but gives nothing back. */
  splice(start: number, remove: number, ...messages: readonly MessageInit[]): void
  /** @param from id of the first message to replace. @param to id of the last. */
  replaceRange(from: string, to: string, ...messages: readonly MessageInit[]): void
  replace(id: string, message: MessageInit): void
  /** All edits of the draft together, or none: only what comes out of them has to be well formed. */
  transaction<T>(edit: (draft: Messages) => T): T
}

/**
 * A conversation that goes on over many runs: a thin object over its log, which any process can open again. Between
 * runs it holds no lock; each run reads only what was written since the last.
 */
export interface Session<Output = string, App = unknown> {
  readonly id: string
  /** `suspended` while a run waits for somebody, or was broken off and can go on; `failed` after one that failed. */
  readonly status: SessionStatus
  readonly messages: Messages
  /** `provider/model` that answered last; before the first answer, the agent's. */
  readonly model: string
  /** Of all runs so far. */
  readonly usage: UsageReport
  /** US dollars of all runs so far; undefined as soon as the price of one model is unknown. */
  readonly cost: number | undefined
  readonly pending: PendingWork
  /** What had to be mended in the messages it was created with: one line each. */
  readonly repairs: readonly string[]
  /**
   * Says something and returns at once. An idle session starts a run with it. One that runs is steered (it enters
   * before the next model call, and calls that have not started are skipped), or in the mode `queue` goes on with it
   * when the run would end. One that is suspended keeps it in the store until it goes on.
   *
   * @param options.signal takes it back as long as it has not entered, and aborts the run that it started.
   * @param options.to id of the run that is meant: the one that goes on (default), or a child of it, however deep. A child
   * that waits reads it when it would end.
   * @throws ProvostError `session-closed`, `invalid-input`; `unknown-run` where no such child goes on (if the session runs
   * elsewhere, `waitForIdle` says so)
   */
  send(
    input: Input,
    options?: { mode?: SendMode | undefined; signal?: AbortSignal | undefined; to?: string | undefined },
  ): void
  /**
   * Says something for good: resolves when it is in the store, whatever becomes of this process. Else as `send`.
   *
   * @param options.key what is said under a key is said once, by whatever process and however often. Up to 200 characters.
   * @param options.maxSteps of the run that it starts, where it starts one.
   * @param options.to as for `send`.
   * @returns `duplicate` where the key was known.
   * @throws ProvostError `session-closed`, `invalid-input`, `unknown-run`
   */
  deliver(
    input: Input,
    options?: {
      mode?: SendMode | undefined
      key?: string | undefined
      maxSteps?: number | undefined
      to?: string | undefined
    },
  ): Promise<'accepted' | 'duplicate'>
  /**
   * Starts a run and gives its events.
   * @throws SessionBusyError while a run of this session goes on.
   */
  stream(input: Input, ...options: With<Omit<RunOptions, 'session' | 'sessionId'>, App>): AgentStream<Output>
  /**
   * Goes on with the last run: one that is suspended, was broken off, failed or was aborted.
   * @throws SessionBusyError while it goes on; ProvostError `nothing-to-resume`.
   */
  resume(decisions?: Decisions): AgentStream<Output>
  /**
   * Answers approvals, remote calls and uncertain calls. A suspended run goes on with any one of them, here or wherever
   * it lives; resolves when the decisions are safe, not when that run has ended.
   * @throws ProvostError `unknown-wait`; `already-decided` where somebody else was first, `wait-expired` where the time
   * was over (the others are delivered).
   */
  resolve(decisions: Decisions): Promise<void>
  /**
   * Resolves when no run goes on here and everything sent is taken or safe in the store, with the last result.
   * @throws the error of the last run, if it failed.
   */
  waitForIdle(): Promise<RunResult<Output> | undefined>
  /**
   * Listens to all runs of this object, and to their children. `tool.call` judges the calls of all of them: of the
   * session's agent, of those it is handed over to, of children however deep, and of what fan-outs and
   * evaluator-optimizers run for this object. Behind the extensions of whoever calls, so it cannot allow what they deny.
   * An agent that a tool runs by itself, without being a composite, is no child. What a listener throws is reported as
   * `agent.error`. `seq` counts what the one listener gets.
   * @throws ProvostError `unknown-event`
   */
  on<K extends keyof SessionListeners>(type: K, listener: SessionListeners[K]): this
  off<K extends keyof SessionListeners>(type: K, listener: SessionListeners[K]): this
  /**
   * A new session with the conversation up to a turn's end. Waits, sticky approvals, usage, the principal and whoever
   * is asked for approvals stay behind.
   *
   * @param options.at id of a message: the new session ends with the turn that holds it. Default: the last turn that has
   * ended.
   * @throws ProvostError `unknown-message`, `no-turn`
   */
  fork(options?: { at?: string }): Promise<Session<Output, App>>
  /**
   * Has the extensions shorten what the model sees: before the next model call of a run that goes on, else at once. What
   * was said stays in the log, and `context.compacted` tells what came of it. Where there is nothing to shorten, nothing
   * happens.
   *
   * @throws SessionBusyError while another process runs the session; ProvostError `no-compactor` for an agent
   * without `compaction()` or an extension like it, and whatever kept the extensions from it: nothing has changed then.
   */
  compact(): Promise<void>
  /** Empties what the model sees. The log keeps all. @throws ProvostError `session-open` */
  reset(): Promise<void>
  /** Ends the run that goes on or waits, wherever it lives; resolves when it has ended, or the word is delivered. */
  abort(options?: AbortOptions): Promise<void>
  /** Waits for the run that goes on, then runs the `session.stop` hooks. To not wait, `abort()` first. */
  close(): Promise<void>
}
