import { AsyncLocalStorage } from 'node:async_hooks'

import type { RunScope } from './run-scope.ts'

const runs = new AsyncLocalStorage<RunScope>()

/** Does something as part of a run: whatever it calls can tell which. */
export function withinRun<T>(scope: RunScope, work: () => T): T {
  return runs.run(scope, work)
}

/** The run that a tool or a hook which is running now belongs to, however deep in it this is called. */
export function currentRun(): RunScope | undefined {
  return runs.getStore()
}
