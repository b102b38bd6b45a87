import type { Principal } from '@provost/core'

import type { Approver } from '../approvals/approver.ts'
import type { DecisionService } from '../approvals/decision-service.ts'
import type { Connections } from '../http/connections.ts'
import type { ChatOptions } from '../options/chat-options.ts'
import type { Limits } from '../options/limits.ts'
import type { RequestOptions } from '../options/request-options.ts'
import type { Action, ErrorPlace } from '../options/server-options.ts'
import type { SessionHost } from '../sessions/session-host.ts'

/** Dependencies of the operations of a server. */
export interface OperationSetup {
  readonly host: SessionHost
  readonly limits: Limits
  readonly connections: Connections
  readonly approver: Approver
  readonly decisionService: DecisionService
  /** Providers whose options a client's history may carry. */
  readonly allowProviderOptions: readonly string[]
  /** What requests may set for their runs. */
  readonly requestOptions: RequestOptions
  readonly chat: ChatOptions
  /** Whether event streams are compressed for clients that accept it. */
  readonly compression: boolean
  /** Name of the engine; `none` without one. */
  readonly engine: string
  /** Where the store keeps its data; `other` for a store that does not say it. */
  readonly storeKind: string
  /** Sessions that this process runs at once. */
  readonly concurrency: number
  /** @throws HttpError 403 */
  allow(principal: Principal, action: Action): Promise<void>
  /** Whether `allow` would accept the action. */
  permits(principal: Principal, action: Action): Promise<boolean>
  /** @throws HttpError 503 while the server shuts down. */
  accepting(): void
  /** Reports to the operator an error that clients see as `internal`. */
  report(thrown: unknown, place: ErrorPlace): void
}
