import { AsyncLocalStorage } from 'node:async_hooks'

import type { Input, RunResult, Spawnable } from '@provost/core'

import type { RunContext } from '../types/run-context.ts'
import type { UntypedRunOptions } from '../types/session.ts'

/** Makes a run that starts inside a fan-out a child of the run that fans out. */
export type Join = (agent: Spawnable, input: Input, options: UntypedRunOptions) => Promise<RunResult<unknown>>

interface CurrentRun {
  readonly ctx: RunContext
  readonly join?: Join
}

const runs = new AsyncLocalStorage<CurrentRun>()

/** Runs work as part of a run: code in it can find out which. */
export function withinRun<T>(ctx: RunContext, work: () => T): T {
  return runs.run({ ctx }, work)
}

/** Runs work as part of a run that the agents started in it join. */
export function withinJoin<T>(ctx: RunContext, join: Join, work: () => T): T {
  return runs.run({ ctx, join }, work)
}

/** Returns the run that the current tool or hook belongs to, at any call depth. */
export function currentRun(): RunContext | undefined {
  return runs.getStore()?.ctx
}

/** Returns how a run that starts now joins another; undefined for a standalone run. */
export function currentJoin(): Join | undefined {
  return runs.getStore()?.join
}
