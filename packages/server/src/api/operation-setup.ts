import type { Principal } from '@provost/core'

import type { Approver } from '../approvals/approver.ts'
import type { Deciding } from '../approvals/decide-waits.ts'
import type { Connections } from '../http/connections.ts'
import type { Limits } from '../options/limits.ts'
import type { Action, ErrorPlace } from '../options/server-options.ts'
import type { SessionHost } from '../sessions/session-host.ts'

/** What the operations of a server work with. */
export interface OperationSetup {
  readonly host: SessionHost
  readonly limits: Limits
  readonly connections: Connections
  readonly approver: Approver
  readonly deciding: Deciding
  /** Providers whose options a client's history may carry. */
  readonly allowProviderOptions: readonly string[]
  /** @throws HttpError 403 */
  allow(principal: Principal, action: Action): Promise<void>
  /** Whether `allow` would let it pass. */
  permits(principal: Principal, action: Action): Promise<boolean>
  /** @throws HttpError 503 while the server shuts down. */
  accepting(): void
  /** Tells whoever runs the server what its clients are not told. */
  report(thrown: unknown, place: ErrorPlace): void
}
