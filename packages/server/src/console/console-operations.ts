import type { OperationSetup } from '../api/operation-setup.ts'
import type { Operation } from '../http/operation.ts'
import { consoleAccess } from './console-access.ts'
import { consoleStore } from './console-store.ts'
import { copyOperations } from './copy-operations.ts'
import { feedOperation } from './feed-operation.ts'
import { insightOperations } from './insight-operations.ts'
import { readOperations } from './read-operations.ts'
import { sessionFeed } from './session-feed.ts'
import { whatIfOperations } from './what-if-operation.ts'

/**
 * Returns the routes under `/api/console`.
 *
 * @param authorized whether `authorize` of the server is set.
 */
export function consoleOperations(setup: OperationSetup, authorized: boolean): readonly Operation[] {
  const stored = consoleStore(setup.host.store)
  const access = consoleAccess(setup, stored.store, authorized)
  const feed = sessionFeed(stored, (thrown) => setup.report(thrown, {}))
  return [
    ...readOperations(setup, stored, access),
    feedOperation(setup, stored, access, feed),
    ...insightOperations(setup, stored, access, feed),
    ...whatIfOperations(setup, stored, access),
    ...copyOperations(setup, stored, access),
  ]
}
