import type { RunStatus } from '@provost/core'

import { around } from '../hooks/around.ts'
import { runLoop } from '../orchestrator/run-loop.ts'
import type { RunContext, RunStart } from '../types/run-context.ts'
import { begin, startedRun } from './begin-run.ts'
import { liveDriver } from './live-driver.ts'
import { prepareResume, resumeRun } from './resume-run.ts'
import { inSteps } from './step-scope.ts'

/**
 * Drives a run in this process until it ends or is suspended.
 *
 * @throws RunEnding, and errors of the store. The caller then has to close the run.
 */
export async function driveRun<Output>(ctx: RunContext, start: RunStart<Output>): Promise<RunStatus> {
  const { agent, id } = ctx
  const op = { kind: 'run', id, runId: id, agent: agent.name } as const
  if (!('resume' in start)) {
    const started = startedRun(ctx)
    return around(ctx, op, async () => {
      await begin(ctx, started, start)
      return driveLoop(ctx)
    })
  }
  await prepareResume(ctx, start)
  return around(ctx, { ...op, resumed: true }, async () => {
    await resumeRun(ctx)
    return driveLoop(ctx)
  })
}

async function driveLoop(ctx: RunContext): Promise<RunStatus> {
  const { state, entryAgent, options, signal, logWriter } = ctx
  const maxSteps = options.maxSteps ?? entryAgent.maxSteps
  const { fence } = logWriter
  return inSteps(ctx, liveDriver(ctx), (driver) => runLoop({ state, driver, entryAgent, maxSteps, fence, signal }))
}
