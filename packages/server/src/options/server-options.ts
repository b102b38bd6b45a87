import type { Agent } from '@provost/agent'
import type { Effect, Json, MaybePromise, Principal, SessionStore } from '@provost/core'

import type { ApprovalOptions, Via } from './approval-options.ts'
import type { Limits } from './limits.ts'

/** What somebody is about to do. */
export type Action =
  | { readonly kind: 'run' | 'list' | 'waits'; readonly agent?: string }
  | {
      readonly kind: 'read' | 'send' | 'abort' | 'delete' | 'export' | 'release'
      readonly sessionId: string
      /** On whose behalf the session acts; absent where it is the principal who asks. */
      readonly requester?: Principal
    }
  | DecideAction

/** A decision in a session, before it is taken; of the inbox, one that the principal is about to be shown. */
export interface DecideAction {
  /** `approve`: of a call, an answer or a handoff that asks. `answer`: to a question of a tool. */
  readonly kind: 'approve' | 'answer' | 'uncertain' | 'tool-result'
  readonly sessionId: string
  /** On whose behalf the session acts. */
  readonly requester?: Principal
  readonly via: Via
  /** Of the wait. */
  readonly id: string
  readonly callId: string
  readonly agent: string
  readonly toolName: string
  readonly effect: Effect
  /** Of the call; null for questions of tools. */
  readonly input: Json
  /** What an approver wants to have run instead. */
  readonly args?: Json
  /** Absent in the inbox. */
  readonly decision?: 'approve' | 'deny'
}

/** What was asked for, or whose events were read, when something failed. Nothing of it: the server looked for runs that were left. */
export interface ErrorPlace {
  readonly request?: Request
  readonly sessionId?: string
}

/** What a server is made of. */
export interface ServerOptions {
  /** The agents that it runs; the first is the one that is meant where a request names none. */
  readonly agents: readonly Agent<unknown, never>[]
  /** Where all sessions are. For several processes: `postgresStore`, or `sqliteStore` on one machine. */
  readonly store: SessionStore
  /**
   * Who asks, or `undefined` for nobody that is known (401). Without it the server answers requests from this machine
   * only, and all are the principal `local`.
   */
  readonly authenticate?: (request: Request) => MaybePromise<Principal | undefined>
  /** Whether a principal may do something; default yes, in sessions of their own. Sessions of others are open to operators and approvers alone. */
  readonly authorize?: (principal: Principal, action: Action) => MaybePromise<boolean>
  /**
   * Who approves calls. Without `authenticate` it may be left out: the requester approves. With it, a server whose tools
   * or extensions can ask is refused without; what asks all the same waits until it is set.
   */
  readonly approvals?: ApprovalOptions
  /**
   * Who has the operator role: sees `GET /api/waits` and decides in the sessions of all; reads a whole session only where
   * `authorize` permits it. Default: nobody with `authenticate`, everybody on this machine without it.
   */
  readonly operator?: (principal: Principal) => MaybePromise<boolean>
  /** The app value of a principal's runs, as `context` of `agent.run`; asked for again when a run goes on. */
  readonly context?: (principal: Principal) => MaybePromise<unknown>
  /** Origins of web pages that may call this server. Default none. */
  readonly origins?: readonly string[]
  /** The address of this server as others know it, for agent cards (A2A). Default: the one that was asked at. */
  readonly publicUrl?: string
  readonly limits?: Partial<Limits>
  /**
   * Providers whose `providerOptions` a client's history may carry, by name: `['anthropic']`. They reach the provider as they
   * are. Default none: they are dropped.
   */
  readonly allowProviderOptions?: readonly string[]
  /**
   * Whether clients get the text of what tools, hooks and listeners throw. Default false: the code and a general text. The
   * model, the log, spans and `onError` have it in any case.
   */
  readonly exposeErrors?: boolean
  /**
   * Is told of what failed in here: clients hear `internal` and no more. Default: `console.error`, with the method and path of
   * the request, and the id of the session.
   */
  readonly onError?: (error: unknown, place: ErrorPlace) => void
  /** Milliseconds between two looks for runs whose process died. Default 5,000. */
  readonly recoverMs?: number
}
