import { AsyncResource } from 'node:async_hooks'

import type { RunStatus } from '@provost/core'

import { executeCalls } from '../composite/execute-calls.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { around } from '../hooks/around.ts'
import { arrivals } from '../inbox/drain.ts'
import type { Driver } from '../loop/driver.ts'
import { askModel } from '../model/model-step.ts'
import { runLoop } from '../orchestrator/run-loop.ts'
import { placeOf } from '../state/entry.ts'
import { authorizeCalls } from '../tools/authorize-call.ts'
import { decisionsOn } from '../tools/await-decisions.ts'
import { reconcileCalls } from '../tools/reconcile-call.ts'
import type { RunContext, RunStart } from '../types/run-context.ts'
import { begin, prepareAgent, startedRun } from './begin-run.ts'
import { endRun } from './end-run.ts'
import { prepareResume, resumeRun } from './resume-run.ts'

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

/**
 * Returns the driver of a run in this process. After an abort its methods throw `RunEnding`, except `append`: what has
 * happened is still recorded. The caller of {@link driveRun} then closes the run.
 *
 * - With `drain` the step is completed first: `takeInputs` throws after it, or `awaitDecisions` where the run would wait. A
 *   final answer completes the run, unless unread input would continue it.
 * - With `onPendingApprovals: 'hold'` a run with open questions is suspended instead: by `awaitDecisions`, or by
 *   `run/force-close.ts`, which ends the other calls.
 */
function liveDriver(ctx: RunContext): Driver {
  const { logWriter } = ctx
  return {
    takeInputs: (at) => arrivals(ctx, at),
    callModel: (step) => askModel(ctx, step),
    authorize: (calls) => authorizeCalls(ctx, calls),
    async reconcile(calls) {
      await reconcileCalls(ctx, calls)
      stopIfAborted(ctx)
    },
    execute: (calls) => executeCalls(ctx, calls),
    awaitDecisions: ({ approvals }) => decisionsOn(ctx, approvals),
    async append(entries) {
      await (entries.at(-1)?.type === 'run' ? endRun(ctx, entries) : logWriter.append(entries))
      // A step of the orchestrator has begun if the log is ahead.
      ctx.step = Math.max(ctx.step, ctx.state.run?.step ?? 0)
      // The log now contains the message.
      ctx.partialMessage = undefined
      ctx.pendingAttempt = undefined
      if (ctx.preparedAgent !== ctx.agent) await prepareAgent(ctx, placeOf(ctx.state))
    },
    emit: (event) => logWriter.emit('extension', event, ctx.step),
  }
}

/** A step whose `around` hooks have begun. */
interface StepScope {
  /** The async context of the innermost hook. */
  readonly context: AsyncResource
  readonly over: PromiseWithResolvers<void>
  /** Resolves when the hooks have ended. */
  readonly closed: Promise<void>
}

/**
 * Runs work with a driver whose actions are inside the `around` hooks of their step. A step begins with its first action
 * and ends before the next inputs are taken, or with the work. An error of the work is also the step's.
 */
async function inSteps<T>(ctx: RunContext, driver: Driver, work: (driver: Driver) => Promise<T>): Promise<T> {
  // Another agent may have other hooks.
  if (ctx.observers().around.step.length === 0 && ctx.agent.handoffs.size === 0) return work(driver)
  let scope: StepScope | undefined
  const close = async (): Promise<void> => {
    const { over, closed } = scope ?? {}
    scope = undefined
    over?.resolve()
    await closed
  }
  const inside = async <R>(next: () => R, step = ctx.state.run?.step ?? 0): Promise<Awaited<R>> => {
    if (!scope && ctx.observers().around.step.length > 0) scope = await openStep(ctx, step)
    return await (scope ? scope.context.runInAsyncScope(next) : next())
  }
  try {
    const result = await work({
      ...driver,
      takeInputs: (at) => (scope ? close().then(() => driver.takeInputs(at)) : driver.takeInputs(at)),
      callModel: (step) => inside(() => driver.callModel(step), step.step),
      authorize: (calls) => inside(() => driver.authorize(calls)),
      execute: (calls) => inside(() => driver.execute(calls)),
      awaitDecisions: (pending) =>
        scope ? inside(() => driver.awaitDecisions(pending)) : driver.awaitDecisions(pending),
      append: (entries) => (scope ? inside(() => driver.append(entries)) : driver.append(entries)),
    })
    await close()
    return result
  } catch (thrown) {
    scope?.over.reject(thrown)
    await scope?.closed.catch(() => {})
    throw thrown
  }
}

/** Begins the hooks of a step. They wait until the step is over. */
async function openStep(ctx: RunContext, step: number): Promise<StepScope> {
  const op = { kind: 'step', id: `${ctx.id}/${step}`, parent: ctx.id, step } as const
  const over = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<AsyncResource>()
  const closed = around(ctx, op, () => {
    entered.resolve(new AsyncResource('provost.step'))
    return over.promise
  })
  // A failure of the step is thrown where it happens.
  closed.catch(() => {})
  return { context: await entered.promise, over, closed }
}
