import type { OperationSetup } from '../api/operation-setup.ts'
import type { Operation } from '../http/operation.ts'
import { consoleAccess } from './console-access.ts'
import { consoleStore } from './console-store.ts'
import { readOperations } from './read-operations.ts'

/**
 * Returns the routes under `/api/console`.
 *
 * @param authorized whether `authorize` of the server is set.
 */
export function consoleOperations(setup: OperationSetup, authorized: boolean): readonly Operation[] {
  const stored = consoleStore(setup.host.store)
  const access = consoleAccess(setup, stored.store, authorized)
  return readOperations(setup, stored, access)
}
