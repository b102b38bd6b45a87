import { AsyncLocalStorage } from 'node:async_hooks'

import type { Input, RunResult, Spawnable } from '@provost/core'

import type { RunContext } from '../types/run-context.ts'
import type { Given } from '../types/session.ts'

/** Makes a run that starts inside a fan-out a child of the run that fans out. */
export type Join = (agent: Spawnable, input: Input, given: Given) => Promise<RunResult<unknown>>

interface Current {
  readonly scope: RunContext
  readonly join?: Join
}

const runs = new AsyncLocalStorage<Current>()

/** Runs work as part of a run: code in it can find out which. */
export function withinRun<T>(scope: RunContext, work: () => T): T {
  return runs.run({ scope }, work)
}

/** Runs work as part of a run that the agents started in it join. */
export function joining<T>(scope: RunContext, join: Join, work: () => T): T {
  return runs.run({ scope, join }, work)
}

/** Returns the run that the current tool or hook belongs to, at any call depth. */
export function currentRun(): RunContext | undefined {
  return runs.getStore()?.scope
}

/** Returns how a run that starts now joins another; undefined for a standalone run. */
export function currentJoin(): Join | undefined {
  return runs.getStore()?.join
}
