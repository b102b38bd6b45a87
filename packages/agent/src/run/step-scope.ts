import { AsyncResource } from 'node:async_hooks'

import { around } from '../hooks/around.ts'
import type { Driver } from '../loop/driver.ts'
import type { RunContext } from '../types/run-context.ts'

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
export async function inSteps<T>(ctx: RunContext, driver: Driver, work: (driver: Driver) => Promise<T>): Promise<T> {
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
