import type {
  AgentEvent,
  Decisions,
  Input,
  Json,
  MaybePromise,
  Message,
  ModelMessage,
  OnApproval,
  OnInput,
  PendingApproval,
  PendingInput,
  PendingRemoteCall,
  PendingUncertain,
  PendingWork,
  ProvostError,
  RunStatus,
  SessionStatus,
  Timestamp,
  UsageReport,
} from '@provost/core'

import type { ClientTool } from './client-tool.ts'

/** What a session is opened with. */
export interface ClientSessionOptions {
  /** Of one that is there. Without it, the first run begins one. */
  readonly id?: string | undefined
  /** Of a new session; default the server's first. */
  readonly agent?: string | undefined
  /** What a new session begins with. */
  readonly messages?: readonly (Message | ModelMessage)[] | undefined
  /** Tools that run here. A session that is there knows those it was begun with; give them again to run them. */
  readonly tools?: readonly ClientTool[] | undefined
}

export interface ExecuteOptions {
  /** Aborts the run: its result then has the status `aborted`. */
  readonly signal?: AbortSignal | undefined
  /** Asked for each approval; `undefined` leaves it pending. */
  readonly onApproval?: OnApproval | undefined
  /** Asked for each question of a tool. */
  readonly onInput?: OnInput | undefined
  /** Model calls that the run may take. */
  readonly maxSteps?: number | undefined
}

/** What the server says of a session. */
export interface SessionView {
  readonly id: string
  readonly agent: string
  readonly status: SessionStatus
  readonly messages: readonly Message[]
  readonly pending: PendingWork
  readonly lastEventId?: string
}

/** A session on the server. */
export interface ClientSession {
  /** Undefined until the first run has begun. */
  readonly id: string | undefined
  /** Starts a run, and goes on with it over lost connections until it ends or waits for what nobody here answers. */
  execute(input: Input, options?: ExecuteOptions): ClientStream
  /** The events behind one (default: all), and those that follow until nothing goes on. */
  follow(options?: ExecuteOptions & { readonly lastEventId?: string | undefined }): ClientStream
  /** Answers what a run waits for. It goes on by itself; `follow` it. */
  resolve(decisions: Decisions): Promise<void>
  /**
   * Says something that enters before the next model call. @throws ServerError `unknown-run` where `to` names none that
   * goes on.
   */
  steer(input: Input, options?: SendOptions): Promise<void>
  /** As `steer`, but it enters when the run would end. */
  followUp(input: Input, options?: SendOptions): Promise<void>
  abort(options?: { readonly drain?: boolean }): Promise<void>
  get(): Promise<SessionView>
  /** What was said, as JSON lines. */
  export(): Promise<string>
  delete(): Promise<void>
}

/** How a run ended. */
export interface ClientResult {
  readonly status: RunStatus | 'idle'
  readonly text: string
  readonly output?: Json
  /** The messages of the run. */
  readonly messages: readonly Message[]
  readonly usage: UsageReport
  /** US dollars. */
  readonly cost?: number
  readonly pending: PendingWork
  readonly sessionId: string
  readonly runId?: string
  /** Of a run that failed. */
  readonly error?: ProvostError
  /** From where `session.follow` goes on. */
  readonly lastEventId?: string
}

/** Whom something is said to. */
export interface SendOptions {
  /** Id of a run below the one that goes on, however deep, as its events have it. Default: the session's own run. */
  readonly to?: string | undefined
}

/** A run on the server, as `agent.stream` gives one here: its events in order, and its result. Iterating is optional. */
export interface ClientStream extends AsyncIterable<AgentEvent> {
  /** Resolves however the run ends. @throws ServerError where the server refused, ProvostError `unreachable`. */
  readonly result: Promise<ClientResult>
  /** @throws ServerError `unknown-run` where `to` names none that goes on. */
  steer(input: Input, options?: SendOptions): Promise<void>
  followUp(input: Input, options?: SendOptions): Promise<void>
  abort(): Promise<void>
}

/** Where a server is, and what goes along with each request. */
export interface ClientOptions {
  /** Without a slash at its end: `https://agents.example`. */
  readonly baseUrl: string
  /** Of each request, such as `authorization`; a function is asked each time. */
  readonly headers?: Readonly<Record<string, string>> | (() => MaybePromise<Readonly<Record<string, string>>>)
  /** Default: that of the platform. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Milliseconds for which a connection that was lost is tried again. Default 60,000. */
  readonly reconnectMs?: number
}

/** A row of the list of sessions. */
export interface SessionRow {
  readonly id: string
  readonly agent: string
  readonly status: SessionStatus
  readonly updatedAt: Timestamp
}

/** One thing that an operator decides on. */
export type WaitRow = {
  readonly sessionId: string
  readonly agent: string
  /** The id of the session's principal. */
  readonly requester?: string
  readonly updatedAt: Timestamp
  /** The question as one line that is safe to print. */
  readonly text: string
} & (
  | { readonly kind: 'approval'; readonly wait: PendingApproval }
  | { readonly kind: 'input'; readonly wait: PendingInput }
  | { readonly kind: 'uncertain'; readonly wait: PendingUncertain }
  | { readonly kind: 'remote'; readonly wait: PendingRemoteCall }
  | { readonly kind: 'quarantined'; readonly wait?: never }
)

/** A Provost server, as seen from here. */
export interface Client {
  /** A session: a new one, or the one of an id. Nothing is asked before its first call. */
  session(options?: string | ClientSessionOptions): ClientSession
  /** A page of your sessions; `next` is the `after` of the page behind it. */
  sessions(options?: {
    readonly after?: string
    readonly limit?: number
  }): Promise<{ readonly sessions: readonly SessionRow[]; readonly next?: string }>
  /**
   * For operators: a page of what waits for a decision in all sessions; `next` is the `after` of the page behind it. A page
   * may be empty and have a next one.
   *
   * @throws ServerError `not-operator`
   */
  waits(options?: {
    readonly after?: string
    readonly limit?: number
  }): Promise<{ readonly waits: readonly WaitRow[]; readonly next?: string }>
  /**
   * Decides in a session, as its requester, an operator or an approver. The run goes on by itself.
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
}
