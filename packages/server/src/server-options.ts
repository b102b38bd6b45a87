import type { Agent } from '@provost/agent'
import type { MaybePromise, Principal, SessionStore } from '@provost/core'

import type { Limits } from './limits.ts'

/** What somebody is about to do. */
export type Action =
  | { readonly kind: 'run' | 'list'; readonly agent?: string }
  | {
      readonly kind: 'read' | 'send' | 'decide' | 'abort' | 'delete' | 'export' | 'release'
      readonly sessionId: string
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
  /**
   * Whether a principal may do something; default yes, in sessions of their own. Sessions of others stay out of reach in
   * any case, except for `release`, the operator's call that ends a quarantine: with `authenticate`, only this grants it.
   */
  readonly authorize?: (principal: Principal, action: Action) => MaybePromise<boolean>
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
