import type { Principal } from '@provost/core'

import type { Approver } from './approver.ts'
import type { Connections } from './connections.ts'
import type { Deciding } from './deciding.ts'
import { executeOperation } from './execute-operation.ts'
import type { Limits } from './limits.ts'
import type { Operation } from './operation.ts'
import { sendOperations } from './send-operations.ts'
import type { Action, ErrorPlace } from './server-options.ts'
import type { SessionHost } from './session-host.ts'
import { sessionOperations } from './session-operations.ts'
import { waitOperations } from './wait-operations.ts'

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

/** The routes under `/api/agent`, and the inbox. */
export function agentOperations(setup: OperationSetup): readonly Operation[] {
  return [executeOperation(setup), ...sessionOperations(setup), ...sendOperations(setup), ...waitOperations(setup)]
}
