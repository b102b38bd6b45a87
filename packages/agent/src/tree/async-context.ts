import { AsyncLocalStorage } from 'node:async_hooks'

import type { Input, RunResult, Spawnable } from '@provost/core'

import type { RunContext } from '../types/run-context.ts'
import type { Given } from '../types/session.ts'

/** Makes a run that is started in the work of a fan-out a child of the run that fans out. */
export type Join = (agent: Spawnable, input: Input, given: Given) => Promise<RunResult<unknown>>

interface Current {
  readonly scope: RunContext
  readonly join?: Join
}

const runs = new AsyncLocalStorage<Current>()

/** Does something as part of a run: whatever it calls can tell which. */
export function withinRun<T>(scope: RunContext, work: () => T): T {
  return runs.run({ scope }, work)
}

/** Does something as part of a run that agents join which are run in it. */
export function joining<T>(scope: RunContext, join: Join, work: () => T): T {
  return runs.run({ scope, join }, work)
}

/** The run that a tool or a hook which is running now belongs to, however deep in it this is called. */
export function currentRun(): RunContext | undefined {
  return runs.getStore()?.scope
}

/** How a run that is started now joins another; undefined where it is one of its own. */
export function currentJoin(): Join | undefined {
  return runs.getStore()?.join
}
