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

/** Options of one run. */
export interface RunOptions {
  /** The session of the run; it must belong to this agent. Its listeners receive the run's events. */
  readonly session?: Session<unknown, never> | undefined
  /** Continues the session with this id, or creates it. Default: a new session. */
  readonly sessionId?: string | undefined
  readonly principal?: Principal | undefined
  /** Aborts the run, as `stream.abort()` does. */
  readonly signal?: AbortSignal | undefined
  /** Called for each approval request while the run is active; without a decision the run is suspended. */
  readonly onApproval?: OnApproval | undefined
  /** Called for each question of a running tool, such as an MCP server's elicitation; other handlers may answer too. */
  readonly onInput?: OnInput | undefined
  /** Overrides the agent's. */
  readonly model?: ModelSpec | undefined
  /** Overrides the agent's. */
  readonly settings?: ModelSettings | undefined
  /** Overrides the agent's. */
  readonly maxSteps?: number | undefined
  /** Overrides the agent's. For a child, the limits of its root apply. */
  readonly hostBytes?: number | undefined
  /** Overrides the agent's. */
  readonly logBytes?: number | undefined
  /** Called before each step and between tools. The inputs it returns enter before the next model call. */
  readonly getSteering?: (() => MaybePromise<readonly Input[]>) | undefined
  /** Called when the run would end. The inputs it returns continue the run. */
  readonly getFollowUp?: (() => MaybePromise<readonly Input[]>) | undefined
}

/** How a run is resumed. */
export type ResumeOptions = RunOptions & Decisions

/** Options of any run with an untyped app value: the agent's type has checked it. */
export type UntypedRunOptions = ResumeOptions & { readonly context?: unknown }

/** Options of a session. */
export interface SessionOptions {
  /** Default: the agent's. */
  readonly store?: SessionStore | undefined
  /** How `send` enters a run in progress. Default: the agent's, otherwise `steer`. */
  readonly sendMode?: SendMode | undefined
  /** On whose behalf its runs act. Default for a resumed session: the principal that it was created with. */
  readonly principal?: Principal | undefined
  /** Called for each approval request while a run is active; without a decision the run is suspended. */
  readonly onApproval?: OnApproval | undefined
  /** Called for each question of a running tool, such as an MCP server's elicitation; other handlers may answer too. */
  readonly onInput?: OnInput | undefined
  /**
   * Extensions for the runs of this object, after the agent's own, with their tools. With the scope `tree` they also
   * govern fan-outs and evaluator-optimizers for it. They are not stored: pass them again when resuming.
   */
  readonly extensions?: readonly Extension[] | undefined
}

/** A listener for each type of event. */
export type EventListeners = { [K in EventType]: (event: EventOf<K>) => unknown }

/** Events, and two names that are not events: `tool.call` decides on calls, `*` receives every event. */
export interface SessionListeners extends EventListeners {
  /** Called before each call of any agent. The first answer applies; a listener that throws denies the call. */
  'tool.call': (call: ToolCall) => Answer<{ deny: string } | { args: unknown }>
  '*': (event: AgentEvent) => unknown
}

/**
 * What the model sees of a session: a read-only list, with methods that edit it. Each edit is validated at once and
 * throws ProvostError `invalid-messages`, with the indices and the reasons, unless the history stays well formed: the
 * user speaks first, every call has exactly one result, every result has its call, and there are no system messages.
 * The log keeps the original messages. While a run is in progress or suspended, edits throw `session-open`. Writing to
 * the list itself throws `guarded-messages`.
 *
 * @example
 * session.messages.replace(message.id, { role: 'user', content: 'what I meant' })
 */
export interface Messages extends ReadonlyArray<Message> {
  append(...messages: readonly MessageInit[]): void
  /** Like `Array.prototype.splice`, without a return value. */
  splice(start: number, remove: number, ...messages: readonly MessageInit[]): void
  /** @param from id of the first message to replace. @param to id of the last. */
  replaceRange(from: string, to: string, ...messages: readonly MessageInit[]): void
  replace(id: string, message: MessageInit): void
  /** Applies all edits of the draft together, or none: only the final history must be well formed. */
  transaction<T>(edit: (draft: Messages) => T): T
}

/**
 * A conversation over many runs: a thin object over its log, which any process can open again. Between runs it holds no
 * lock; each run reads only new entries.
 */
export interface Session<Output = string, App = unknown> {
  readonly id: string
  /**
   * `suspended` while a run waits for outside input, or was interrupted and can resume; `failed` after a failed run.
   */
  readonly status: SessionStatus
  readonly messages: Messages
  /** `provider/model` of the last answer; before the first answer, the agent's. */
  readonly model: string
  /** Usage of all runs so far. */
  readonly usage: UsageReport
  /** Cost of all runs so far in US dollars; undefined as soon as one price is unknown. */
  readonly cost: number | undefined
  readonly pending: PendingWork
  /** Repairs of the messages that it was created with, one line each. */
  readonly repairs: readonly string[]
  /**
   * Sends an input and returns at once. An idle session starts a run with it. A run in progress is steered: the input
   * enters before the next model call, and calls that have not started are skipped. In the mode `queue` it enters when
   * the run would end. A suspended session keeps it in the store until it resumes.
   *
   * @param options.signal withdraws the input while it has not entered, and aborts the run that it started.
   * @param options.to id of the target run: the run in progress (default), or a child of it at any depth. A child that
   * waits reads it when it would end.
   * @throws ProvostError `session-closed`, `invalid-input`; `unknown-run` if no such child is active (if the session
   * runs elsewhere, `waitForIdle` reports it)
   */
  send(
    input: Input,
    options?: { mode?: SendMode | undefined; signal?: AbortSignal | undefined; to?: string | undefined },
  ): void
  /**
   * Sends an input durably: resolves when it is in the store, even if this process dies later. Otherwise like `send`.
   *
   * @param options.key idempotency key: an input with a known key is accepted once, from any process. Up to 200
   * characters.
   * @param options.maxSteps of the run that it starts, if it starts one.
   * @param options.to as for `send`.
   * @returns `duplicate` if the key is known.
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
   * Starts a run and returns its event stream.
   * @throws SessionBusyError while a run of this session is in progress.
   */
  stream(input: Input, ...options: With<Omit<RunOptions, 'session' | 'sessionId'>, App>): AgentStream<Output>
  /**
   * Resumes the last run if it is suspended, interrupted, failed or aborted.
   * @throws SessionBusyError while it is in progress; ProvostError `nothing-to-resume`.
   */
  resume(decisions?: Decisions): AgentStream<Output>
  /**
   * Answers approvals, remote calls and uncertain calls. Any of them resumes a suspended run, in this process or
   * another. Resolves when the decisions are stored, not when that run has ended.
   * @throws ProvostError `unknown-wait`; `already-decided` for a wait with an earlier decision, `wait-expired` after
   * the deadline (the other decisions are delivered).
   */
  resolve(decisions: Decisions): Promise<void>
  /**
   * Resolves with the last result when no run is in progress here and every sent input is consumed or stored.
   * @throws the error of the last run, if it failed.
   */
  waitForIdle(): Promise<RunResult<Output> | undefined>
  /**
   * Subscribes to all runs of this object and to their children. A `tool.call` listener decides on the calls of all of
   * them: of the session's agent, of handoff targets, of children at any depth, and of fan-outs and
   * evaluator-optimizers for this object. It runs after the extensions of the calling agent, so it cannot allow what
   * they deny. An agent that a tool runs by itself, without being a composite, is not a child. Errors of a listener are
   * reported as `agent.error`. `seq` counts the events of one listener.
   * @throws ProvostError `unknown-event`
   */
  on<K extends keyof SessionListeners>(type: K, listener: SessionListeners[K]): this
  off<K extends keyof SessionListeners>(type: K, listener: SessionListeners[K]): this
  /**
   * Creates a session with the conversation up to the end of a turn. Waits, sticky approvals, usage, the principal and
   * approval handlers are not copied.
   *
   * @param options.at id of a message: the new session ends with the turn that contains it. Default: the last ended
   * turn.
   * @throws ProvostError `unknown-message`, `no-turn`
   */
  fork(options?: { at?: string }): Promise<Session<Output, App>>
  /**
   * Lets the extensions compact what the model sees: before the next model call of a run in progress, otherwise at
   * once. The log keeps the original messages, and `context.compacted` reports the result. Does nothing if there is
   * nothing to compact.
   *
   * @throws SessionBusyError while another process runs the session; ProvostError `no-compactor` for an agent without
   * `compaction()` or a similar extension; errors of these extensions, which leave the view unchanged.
   */
  compact(): Promise<void>
  /** Clears what the model sees. The log keeps everything. @throws ProvostError `session-open` */
  reset(): Promise<void>
  /** Ends the active or suspended run, in any process. Resolves when it has ended, or the request is delivered. */
  abort(options?: AbortOptions): Promise<void>
  /** Waits for the run in progress, then runs the `session.stop` hooks. Call `abort()` first to skip the wait. */
  close(): Promise<void>
}
