import type { Agent } from '@provost/agent'
import type { Effect, Json, MaybePromise, Principal, RunChange } from '@provost/core'

import type { ApprovalOptions, OperatorGrant, OperatorRole, Via } from './approval-options.ts'
import type { ChatOptions } from './chat-options.ts'
import type { ConsoleMemory } from './console-memory.ts'
import type { ConsoleOptions } from './console-options.ts'
import type { Limits } from './limits.ts'
import type { RequestOptions } from './request-options.ts'
import type { WorkOptions } from './work-options.ts'

/** What a principal is about to do. */
export type Action =
  | { readonly kind: 'run' | 'list' | 'waits' | 'import' | 'system'; readonly agent?: string }
  | {
      readonly kind: 'read' | 'send' | 'abort' | 'delete' | 'export' | 'release' | 'compensate' | 'fork' | 'forget'
      readonly sessionId: string
      /** Principal of the session; absent if it is the one that sends the request. */
      readonly requester?: Principal
    }
  | {
      /** The change of code with which an operator resumes a run. */
      readonly kind: 'accept'
      readonly sessionId: string
      readonly requester?: Principal
      readonly change: RunChange
    }
  | DecideAction

/** A decision in a session before it is made, or a row of the inbox before the principal sees it. */
export interface DecideAction {
  /** `approve`: of a call, an answer or a handoff that asks. `answer`: to a question of a tool. */
  readonly kind: 'approve' | 'answer' | 'uncertain' | 'tool-result'
  readonly sessionId: string
  /** Principal of the session. */
  readonly requester?: Principal
  readonly via: Via
  /** Id of the wait. */
  readonly id: string
  readonly callId: string
  readonly agent: string
  readonly toolName: string
  readonly effect: Effect
  /** Input of the call; null for questions of tools. */
  readonly input: Json
  /** Arguments that an approver wants to run instead. */
  readonly args?: Json
  /** The decision; absent in the inbox. */
  readonly decision?: 'approve' | 'deny'
}

/** The request or session of an error. Both are absent if the recovery of runs failed. */
export interface ErrorPlace {
  readonly request?: Request
  readonly sessionId?: string
}

/** Options of `createServer`. */
export interface ServerOptions extends WorkOptions {
  /** Agents of the server. The first is the default of requests that name none. */
  readonly agents: readonly Agent<unknown, never>[]
  /**
   * Returns the principal of a request, or `undefined` for an unknown one (401). Without it the server answers requests
   * from this machine only, and their principal is `local`.
   */
  readonly authenticate?: (request: Request) => MaybePromise<Principal | undefined>
  /** Returns whether a principal may do something; default yes in its own sessions. Only operators and approvers reach other sessions. */
  readonly authorize?: (principal: Principal, action: Action) => MaybePromise<boolean>
  /**
   * Who approves calls. Without `authenticate` it is optional: the requester approves. With `authenticate` it is required
   * if tools or extensions can ask. A question that still comes without it waits until it is set.
   */
  readonly approvals?: ApprovalOptions
  /**
   * Returns the operator role of a principal, for the sessions of all principals:
   *
   * - `view`: reads them in the console. Secret values are withheld, unless the answer is `{ role: 'view', clearance: 'secret' }`.
   * - `decide`: also sees `GET /api/waits` and decides.
   * - `operate`: also releases, forks and imports sessions, and sees the system.
   * - `true`: like `operate`, but reads whole sessions only if `authorize` is set and permits it.
   *
   * `authorize` is asked about each session and can refuse it. Default: no role with `authenticate`; `operate` for each request from this machine without
   * it.
   */
  readonly operator?: (principal: Principal) => MaybePromise<boolean | OperatorRole | OperatorGrant | undefined>
  /**
   * Whether event streams are compressed (gzip) for clients that accept it. Default true. With `false`, the length of
   * a frame depends on that frame alone: an observer of the encrypted connection who also writes text into a session,
   * such as the author of a mail that an agent reads, cannot compare his text with secrets in the same stream.
   */
  readonly compression?: boolean
  /** Returns the app value of a principal's runs, as `context` of `agent.run`; called again when a run resumes. */
  readonly context?: (principal: Principal) => MaybePromise<unknown>
  /** Origins of web pages that may call this server. Default none. */
  readonly origins?: readonly string[]
  /** Public address of this server, for agent cards (A2A). Default: the address of the request. */
  readonly publicUrl?: string
  /** How `/api/chat` treats its pages. */
  readonly chat?: ChatOptions
  /**
   * Serves the web console of `@provost/console` at `/console/`, with the rights of the API. Without `authenticate`, all requests of
   * the API then need a token, so that other users of the machine cannot approve calls: open `consoleUrl` of `serve`.
   * Default false.
   */
  readonly console?: boolean | ConsoleOptions
  /**
   * Memories of the agents, by the names that operators see: the console shows what a session may recall, and operators of
   * the role `operate` forget it. Default none.
   *
   * @example
   * createServer({ agents, store, console: true, memories: { notes } })
   */
  readonly memories?: Readonly<Record<string, ConsoleMemory>>
  readonly limits?: Partial<Limits>
  /**
   * Names of providers whose `providerOptions` a client's history may carry: `['anthropic']`. They reach the provider
   * unchanged. Default none: they are dropped.
   */
  readonly allowProviderOptions?: readonly string[]
  /**
   * What a request to `execute` may set for its run in `options`. Default nothing: 400 `invalid-option`.
   *
   * @example
   * createServer({ agents, store, requestOptions: { models: { fast, thorough }, temperature: { min: 0, max: 1 } } })
   */
  readonly requestOptions?: RequestOptions
  /**
   * Whether clients receive the text of errors that tools, hooks and listeners throw. Default false: the code and a general
   * text. The model, the log, spans and `onError` always receive the text.
   */
  readonly exposeErrors?: boolean
  /**
   * Receives errors of the server itself, of which clients receive only `internal`. Default: `console.error`, with the
   * method and path of the request, and the id of the session.
   */
  readonly onError?: (error: unknown, place: ErrorPlace) => void
}
