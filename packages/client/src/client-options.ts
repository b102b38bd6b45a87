import type {
  AgentEvent,
  Compensation,
  Decisions,
  Input,
  Json,
  MaybePromise,
  Message,
  ModelMessage,
  OnApproval,
  OnBatch,
  OnInput,
  PendingApproval,
  PendingInput,
  PendingRemoteCall,
  PendingUncertain,
  PendingWork,
  RunChange,
  ProvostError,
  RunStatus,
  SessionStatus,
  Timestamp,
  UsageReport,
} from '@provost/core'

import type { ClientTool } from './client-tool.ts'

/** Options with which a session is opened. */
export interface ClientSessionOptions {
  /** Id of an existing session, or of one that `create` creates. Without it, the first run creates a session. */
  readonly id?: string | undefined
  /** Agent of a new session; default the server's first. */
  readonly agent?: string | undefined
  /** History of a new session, imported as untrusted. */
  readonly messages?: readonly (Message | ModelMessage)[] | undefined
  /** Tools that run here. An existing session keeps its tool definitions; pass the tools again to run them. */
  readonly tools?: readonly ClientTool[] | undefined
}

export interface ExecuteOptions {
  /** Ends the stream early, as `onAbort` says. */
  readonly signal?: AbortSignal | undefined
  /**
   * What an aborted `signal` does. `abort` aborts the run: the result has the status `aborted`. `leave` stops reading: the run
   * continues on the server, the events end, and `result` rejects with the reason of the signal. Default: `abort` for
   * `execute`, `leave` for `follow`.
   */
  readonly onAbort?: 'abort' | 'leave' | undefined
  /** Called for each approval; `undefined` leaves it pending. */
  readonly onApproval?: OnApproval | undefined
  /** Called once for each batch of calls, instead of `onApproval` for its rows. */
  readonly onBatch?: OnBatch | undefined
  /** Called for each question of a tool. */
  readonly onInput?: OnInput | undefined
  /** Model calls of the run at most. */
  readonly maxSteps?: number | undefined
  /** Name of a model that the server offers to requests (`requestOptions`). */
  readonly model?: string | undefined
  /** Only if the server permits it. */
  readonly temperature?: number | undefined
  /** Only if the server permits it. `required` and `tool` hold for the first model call of the run. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string } | undefined
}

/** Options of `follow`: those of `execute` that do not set up the run. */
export interface FollowOptions extends Omit<ExecuteOptions, 'model' | 'temperature' | 'toolChoice'> {
  /** Default: all events of the session. */
  readonly lastEventId?: string | undefined
}

/** The state of a session as the server reports it. */
export interface SessionView {
  readonly id: string
  readonly agent: string
  readonly status: SessionStatus
  readonly messages: readonly Message[]
  readonly pending: PendingWork
  /** For operators: the change of the agent that keeps the server from resuming the run. */
  readonly change?: RunChange
  /** `provider/model` of the last answer. */
  readonly model?: string
  /** Usage of all runs, with their children. */
  readonly usage: UsageReport
  /** Cost of `usage` in US dollars; absent before the first model call, and as soon as one price is unknown. */
  readonly cost?: number
  readonly lastEventId?: string
}

/** A session on the server. */
export interface ClientSession {
  /** Undefined until the first run has begun. */
  readonly id: string | undefined
  /**
   * Creates the session under the id that `client.session({ id, agent, messages })` gives. Without effect if your session
   * of this id exists with this agent. A session with tools is created by its first `execute`, without an id.
   *
   * @throws ServerError `session-exists` if the id is taken, `invalid-session-id`; ProvostError `invalid-option`
   *
   * @example
   * const session = client.session({ id: crypto.randomUUID(), agent: 'desk' })
   * await session.create()
   */
  create(): Promise<void>
  /** Starts a run and follows it across lost connections, until it ends or waits for a decision without a callback here. */
  execute(input: Input, options?: ExecuteOptions): ClientStream
  /**
   * Yields the events after `lastEventId` (default: all), and those that follow until no run is active. An aborted `signal`
   * stops reading; with `onAbort: 'abort'` it aborts the run.
   *
   * @example
   * const control = new AbortController()
   * for await (const event of session.follow({ signal: control.signal })) if (!show(event)) control.abort()
   */
  follow(options?: FollowOptions): ClientStream
  /** Answers pending waits. The run resumes on the server; read its events with `follow`. */
  resolve(decisions: Decisions): Promise<void>
  /**
   * Sends input that the run receives before its next model call.
   *
   * @throws ServerError `unknown-run` if `to` names no active run.
   */
  steer(input: Input, options?: SendOptions): Promise<void>
  /** Sends input that the run receives when it would end. */
  followUp(input: Input, options?: SendOptions): Promise<void>
  abort(options?: { readonly drain?: boolean }): Promise<void>
  /**
   * Undoes what the tools of the session have done, the last effect first, after one approval of the list. A compensation
   * that waits or was interrupted is continued.
   *
   * @returns what was undone and what could not be. `suspended` if it waits: for `decisions` in another call, or for an
   * operator, who finds it in `client.waits`.
   * @throws ServerError `session-busy`, `session-open` while a run is suspended, `unknown-message`, `not-approver`
   *
   * @example
   * const first = await session.compensate({ since: message.id })
   * if (first.status === 'suspended') {
   *   const approvals = first.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
   *   await session.compensate({ decisions: { approvals } })
   * }
   */
  compensate(options?: CompensateOptions): Promise<Compensation>
  get(): Promise<SessionView>
  /** Returns the messages as JSON lines. */
  export(): Promise<string>
  delete(): Promise<void>
}

/** Options of `compensate`. */
export interface CompensateOptions {
  /** Later effects are undone: the id of a message, an offset in the log, or a time. Default: all effects. */
  readonly since?: string | number | Date | undefined
  /** Answers to what the compensation waits for. */
  readonly decisions?: Decisions | undefined
}

/** How a run ended. */
export interface ClientResult {
  readonly status: RunStatus | 'idle'
  readonly text: string
  readonly output?: Json
  /** The messages of the run. */
  readonly messages: readonly Message[]
  readonly usage: UsageReport
  /** Cost in US dollars. */
  readonly cost?: number
  readonly pending: PendingWork
  readonly sessionId: string
  readonly runId?: string
  /** Error of a failed run. */
  readonly error?: ProvostError
  /** Id of the last event: pass it to `session.follow`. */
  readonly lastEventId?: string
}

/** Options of `steer` and `followUp`. */
export interface SendOptions {
  /** Id of a descendant of the active run, from its events. Default: the session's own run. */
  readonly to?: string | undefined
}

/** A run on the server, like the stream of a local agent: its events in order, and its result. Iterating is optional. */
export interface ClientStream extends AsyncIterable<AgentEvent> {
  /** Resolves when the run ends, with any status. @throws ServerError for a rejected request, ProvostError `unreachable`. */
  readonly result: Promise<ClientResult>
  /** @throws ServerError `unknown-run` if `to` names no active run. */
  steer(input: Input, options?: SendOptions): Promise<void>
  followUp(input: Input, options?: SendOptions): Promise<void>
  abort(): Promise<void>
}

/** Options of `createClient`. */
export interface ClientOptions {
  /** Address of the server without a trailing slash: `https://agents.example`. */
  readonly baseUrl: string
  /** Headers of each request, such as `authorization`; a function is called for each request. */
  readonly headers?: Readonly<Record<string, string>> | (() => MaybePromise<Readonly<Record<string, string>>>)
  /** Replaces the platform's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Milliseconds for which a lost connection is retried. Default 60,000. */
  readonly reconnectMs?: number
}

/** A row of the list of sessions. */
export interface SessionRow {
  readonly id: string
  readonly agent: string
  readonly status: SessionStatus
  readonly updatedAt: Timestamp
}

/** A pending decision in the operators' inbox. */
export type WaitRow = {
  readonly sessionId: string
  readonly agent: string
  /** The id of the session's principal. */
  readonly requester?: string
  readonly updatedAt: Timestamp
  /** The question as one printable line. */
  readonly text: string
} & (
  | { readonly kind: 'approval'; readonly wait: PendingApproval }
  | { readonly kind: 'input'; readonly wait: PendingInput }
  | { readonly kind: 'uncertain'; readonly wait: PendingUncertain }
  | { readonly kind: 'remote'; readonly wait: PendingRemoteCall }
  | { readonly kind: 'quarantined'; readonly wait?: never }
  | {
      /** The run waits until a change of its agent is accepted: `client.acceptChange`. */
      readonly kind: 'change'
      readonly change: RunChange
      readonly wait?: never
    }
)

/** A client of a Provost server. */
export interface Client {
  /** Returns a new or an existing session. No request is sent before its first call. */
  session(options?: string | ClientSessionOptions): ClientSession
  /** Returns a page of your sessions; `next` is the `after` of the next page. */
  sessions(options?: {
    readonly after?: string
    readonly limit?: number
  }): Promise<{ readonly sessions: readonly SessionRow[]; readonly next?: string }>
  /**
   * Returns a page of the pending decisions of all sessions, for operators. `next` is the `after` of the next page. An
   * empty page may have a next one.
   *
   * @throws ServerError `not-operator`
   */
  waits(options?: {
    readonly after?: string
    readonly limit?: number
  }): Promise<{ readonly waits: readonly WaitRow[]; readonly next?: string }>
  /**
   * Decides in a session, as its requester, an operator or an approver. The run resumes on the server.
   *
   * @throws ServerError `not-approver`, `already-decided`
   *
   * @example
   * for (const { sessionId, kind, text, wait } of (await client.waits()).waits) {
   *   if (kind === 'approval' && (await confirm(text))) {
   *     await client.decide(sessionId, { approvals: [{ id: wait.id, decision: 'approve' }] })
   *   }
   * }
   */
  decide(sessionId: string, decisions: Decisions): Promise<void>
  /**
   * Resumes a run whose agent changed, under the rule `ask` of its agent. For operators.
   *
   * @param change id of the change, from `client.waits` or `session.get`.
   * @returns false if no change keeps the server from resuming the run, for example because it was accepted before.
   * @throws ServerError `not-operator`, `unknown-session`; `definition-changed` if the change is another one by now, or the
   * agent refuses changes
   */
  acceptChange(sessionId: string, change: string): Promise<boolean>
}
