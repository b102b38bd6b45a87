import type {
  AgentEvent,
  Answer,
  Compensation,
  Decisions,
  EventOf,
  EventType,
  Extension,
  ForkOffers,
  Input,
  Json,
  JsonObject,
  MaybePromise,
  Message,
  MessageInit,
  ModelSettings,
  ModelSpec,
  OnApproval,
  OnBatch,
  OnInput,
  PendingWork,
  Principal,
  RunResult,
  SessionStatus,
  Rest,
  SessionStore,
  Spawnable,
  Timestamp,
  ToolCall,
  UsageReport,
} from '@provost/core'

import type { AbortOptions, AgentStream, FollowUps, SendMode, With } from './stream.ts'

/** See `session.rest`. */
export type SessionRest = 'running' | 'crashed' | 'waits' | 'yielded' | 'idle'

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
  /** Called once for each batch of calls, instead of `onApproval` for its rows. */
  readonly onBatch?: OnBatch | undefined
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
  /** Called when the run would end and no input is queued. The inputs it returns continue the run, one for each turn. */
  readonly getFollowUp?: (() => MaybePromise<readonly Input[]>) | undefined
  /** Overrides the session's or the agent's. */
  readonly followUps?: FollowUps | undefined
}

/** How a run is resumed. */
export interface ChangeAcceptance {
  /**
   * Continues a run whose agent changed, under the rule `ask` of `createAgent({ whenChanged })`. With the id of a change,
   * only if it is still that one: see `agent.changeSince`.
   */
  readonly acceptChanges?: boolean | string
}

export type ResumeOptions = RunOptions & Decisions & ChangeAcceptance

/** Options of any run with an untyped app value: the agent's type has checked it. */
export type UntypedRunOptions = ResumeOptions & { readonly context?: unknown }

/** Options of a session. */
export interface SessionOptions {
  /** Default: the agent's. */
  readonly store?: SessionStore | undefined
  /** How `send` enters a run in progress. Default: the agent's, otherwise `steer`. */
  readonly sendMode?: SendMode | undefined
  /** How queued inputs enter a run. Default: the agent's, otherwise `each`. */
  readonly followUps?: FollowUps | undefined
  /** On whose behalf its runs act. Default for a resumed session: the principal that it was created with. */
  readonly principal?: Principal | undefined
  /** Called for each approval request while a run is active; without a decision the run is suspended. */
  readonly onApproval?: OnApproval | undefined
  /** Called once for each batch of calls, instead of `onApproval` for its rows. */
  readonly onBatch?: OnBatch | undefined
  /** Called for each question of a running tool, such as an MCP server's elicitation; other handlers may answer too. */
  readonly onInput?: OnInput | undefined
  /**
   * Extensions for the runs of this object, after the agent's own, with their tools. With the scope `tree` they also
   * govern fan-outs and evaluator-optimizers for it. They are not stored: pass them again when resuming.
   */
  readonly extensions?: readonly Extension[] | undefined
  /**
   * What the overrides of a fork name: see `overrides` of `forkSession`. A fork whose policy or instructions are missing here
   * is not resumed.
   */
  readonly overrides?: ForkOffers | undefined
  /**
   * The agents that each process with the store can run. With them, children with `where: 'any'` become sessions of their
   * own. A server and a worker give theirs. Default: children run in this process.
   */
  readonly agents?: readonly Spawnable[] | undefined
}

/** A listener for each type of event. */
export type EventListeners = { [K in EventType]: (event: EventOf<K>) => unknown }

/** Events, and two names that are not events: `tool.call` decides on calls, `*` receives every event. */
export interface SessionListeners extends EventListeners {
  /**
   * Called before each call of any agent, in the order of registration. A listener may rewrite the arguments, and receives
   * those that the one before it left. A listener that left other arguments than the final ones is called once more: it
   * may deny, but a rewrite is ignored. The first `deny` applies. A listener that throws denies the call.
   */
  'tool.call': (call: ToolCall<JsonObject>) => Answer<{ deny: string } | { args: object }>
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
  /**
   * Applies all edits of the draft together, or none: only the final history must be well formed.
   *
   * @param edit must not be asynchronous: use `batch()` where edits await something.
   * @throws ProvostError `async-transaction` if `edit` returns a promise, and what it throws; nothing is applied then.
   */
  transaction<T>(edit: (draft: Messages) => NoPromise<T>): T
  /**
   * Returns a draft of the messages. Its edits are applied together by `commit()`, and a draft without a commit changes
   * nothing.
   *
   * @example
   * const draft = session.messages.batch()
   * draft.splice(0, 4, { content: await summaryOf(draft.slice(0, 4)) })
   * draft.commit()
   */
  batch(): MessageBatch
}

type NoPromise<T> = T extends PromiseLike<unknown> ? never : T

/** A draft of the messages of a session, made by `session.messages.batch()`. */
export interface MessageBatch extends Messages {
  /**
   * Validates the final history once, and applies all edits. An invalid draft stays open and can be repaired.
   *
   * @throws ProvostError `invalid-messages`; `messages-changed` if the messages changed since `batch()`; `draft-over`
   * after the commit; `session-open` while a run is in progress or suspended.
   */
  commit(): void
}

/** Options of `session.compensate`. */
export interface CompensateOptions {
  /**
   * Effects after this are undone: a number is an offset in the log of the session, a text the id of a message, and a
   * Date a time. Default: all effects of the session.
   */
  readonly since?: number | string | Date | undefined
  /**
   * Agents whose tools children have called, if the agent does not reach them: those that a composite spawned. Agents of
   * handoffs and of `toTool` are found.
   */
  readonly agents?: readonly Spawnable[] | undefined
  /** Called for the approval of the list. Default: that of the session. */
  readonly onApproval?: OnApproval | undefined
  /** Decisions on what the compensation waits for. */
  readonly decisions?: Decisions | undefined
  /** Aborts the compensation: `compensate` rejects with `aborted`. */
  readonly signal?: AbortSignal | undefined
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
  /**
   * What the session does without news: `running` while a run is active in this process, `crashed` if its run is in
   * progress in the log alone (its process has died, or is another one), `waits` for an answer or a deadline, `yielded`
   * after `yield()`, otherwise `idle`.
   */
  readonly rest: SessionRest
  /** When the first wait of the run expires, in milliseconds since 1970; undefined without a deadline. */
  readonly nextDeadline: Timestamp | undefined
  readonly messages: Messages
  /** `provider/model` of the last answer; before the first answer, the agent's. */
  readonly model: string
  /**
   * Usage of all model calls so far: of runs and the calls of their hooks, of compactions, of discarded attempts, and
   * of children at any depth. A child is counted when it ends or is suspended. Without counts before the first call.
   */
  readonly usage: UsageReport
  /** Cost of `usage` in US dollars; undefined before the first model call, and as soon as one price is unknown. */
  readonly cost: number | undefined
  readonly pending: PendingWork
  /** Repairs of the messages that it was created with, one line each. */
  readonly repairs: readonly string[]
  /**
   * Sends an input and returns at once. An idle session starts a run with it. A run in progress is steered: the input
   * enters before the next model call, and calls that have not started are skipped. In the mode `queue` it enters when
   * the run would end, in a turn of its own (see `followUps`). A suspended session keeps it in the store until it resumes.
   *
   * @param options.signal withdraws the input while it has not entered, and aborts the run that it started.
   * @param options.to id of the target run: the run in progress (default), or a child of it at any depth. A child that
   * waits reads it when it would end.
   * @throws ProvostError `session-closed`, `invalid-input`; `child-session` for the session of a child that has no run in
   * progress; `unknown-run` if no such child is active (if the session runs elsewhere, `waitForIdle` reports it)
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
   * @param options.data JSON for extensions, stored with the input. The run that takes the input records it in the same
   * append: its entry `resolved` has the value `{ data }`, which a fold reads. Not for a child run.
   * @returns `duplicate` if the key is known.
   * @throws ProvostError `session-closed`, `invalid-input`, `invalid-option`, `child-session`, `unknown-run`
   */
  deliver(
    input: Input,
    options?: {
      mode?: SendMode | undefined
      key?: string | undefined
      maxSteps?: number | undefined
      to?: string | undefined
      data?: Json | undefined
    },
  ): Promise<'accepted' | 'duplicate'>
  /**
   * Starts a run and returns its event stream.
   * @throws SessionBusyError while a run of this session is in progress.
   */
  stream(input: Input, ...options: With<Omit<RunOptions, 'session' | 'sessionId'>, App>): AgentStream<Output>
  /**
   * Resumes the last run if it is suspended, interrupted, failed or aborted.
   * @throws SessionBusyError while it is in progress; ProvostError `nothing-to-resume`. Its result fails with `definition-changed`
   * where `createAgent({ whenChanged })` does not let the changed agent continue.
   */
  resume(decisions?: Decisions & ChangeAcceptance): AgentStream<Output>
  /**
   * Advances the session until it rests, in this process: resumes a run that was interrupted, or that has news in its
   * inbox or a wait that expired, and starts runs with input that no run has taken. Without news it reads the log and the
   * inbox, and writes nothing to the log. For workers and engines; any process may call it at any time.
   *
   * @returns why it rests. `busy` while another process has the run.
   * @throws the error of a run that stopped before its end was in the log: try again later.
   */
  advance(): Promise<Rest>
  /**
   * Suspends the run in progress where its next step would begin, so that another process or another session can use the
   * place. The session is due at once, and `advance()` or `resume()` continues the run. Does nothing without a run.
   */
  yield(): void
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
  /**
   * Undoes what tools with `compensate` have done in the session and its children, the last effect first. A human
   * approves the whole list once, and may strike effects from it. Each effect is undone once, also after a crash.
   * While a compensation waits or was interrupted, a call continues it with its own list, whatever `since` is.
   *
   * @returns what was undone, and what could not be undone with the reason. `suspended` if it waits for a human.
   * @throws SessionBusyError while a run or another compensation is in progress; ProvostError `session-open` while a run
   * is suspended; `unknown-message`, `invalid-option`, `not-an-agent`, `aborted`
   *
   * @example
   * const first = await session.compensate({ since: message.id })
   * if (first.status === 'suspended') {
   *   const approvals = first.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
   *   await session.compensate({ decisions: { approvals } })
   * }
   */
  compensate(options?: CompensateOptions): Promise<Compensation>
  /** Clears what the model sees. The log keeps everything. @throws ProvostError `session-open` */
  reset(): Promise<void>
  /** Ends the active or suspended run, in any process. Resolves when it has ended, or the request is delivered. */
  abort(options?: AbortOptions): Promise<void>
  /** Waits for the run in progress, then runs the `session.stop` hooks. Call `abort()` first to skip the wait. */
  close(): Promise<void>
}
