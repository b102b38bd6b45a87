import type { Operation } from '../http/operation.ts'
import { compensateOperation } from './compensate-operation.ts'
import { createOperation } from './create-operation.ts'
import { executeOperation } from './execute-operation.ts'
import type { OperationSetup } from './operation-setup.ts'
import { sendOperations } from './send-operations.ts'
import { sessionOperations } from './session-operations.ts'
import { waitOperations } from './wait-operations.ts'

/** Returns the routes under `/api/agent`, and the inbox. */
export function agentOperations(setup: OperationSetup): readonly Operation[] {
  return [
    executeOperation(setup),
    createOperation(setup),
    ...sessionOperations(setup),
    ...sendOperations(setup),
    compensateOperation(setup),
    ...waitOperations(setup),
  ]
}
