import type { AdmissionAnswer, Extension, MaybePromise, ModelSettings, PlannedCall } from '@provost/core'
import { ProvostError, isPromise } from '@provost/core'
import { priceFor } from '@provost/provider'

import { hookFailed, stopIfAborted } from '../control/run-ending.ts'
import { peersIn, wakeWaiters, whenReleased } from '../tree/reservations.ts'
import type { RunContext } from '../types/run-context.ts'
import { runHooks } from './run-hooks.ts'

/** The answers of the hooks that admitted a call. */
type AdmissionAnswers = readonly (readonly [
  by: Extension,
  Exclude<AdmissionAnswer, { wait: true } | { stop: unknown }>,
])[]

/**
 * Lets the `model.call` hooks admit a planned call, and reserves the budget that they state. If a hook answers `wait`, all
 * hooks run again when another call of the tree has ended.
 *
 * @param isCounted whether the log already counts the usage of the call.
 * @param by the extension whose hook makes the call; its own `model.call` hook is skipped.
 * @returns the settings of the call.
 * @throws RunEnding when a hook stops the run or fails.
 */
export async function admitCall(
  ctx: RunContext,
  planned: Omit<PlannedCall, 'price'>,
  isCounted: () => boolean,
  by?: Extension,
): Promise<ModelSettings> {
  const { reservations, tree } = ctx
  const price = priceFor(planned.model, planned.inputTokens, ctx.agent.prices)
  const call: PlannedCall = price ? { ...planned, price } : planned
  for (let idle = 0; ;) {
    const { reservationCount } = tree
    const asked = askHooks(ctx, call, by)
    const admitted = isPromise(asked) ? await asked : asked
    stopIfAborted(ctx)
    if (admitted === 'wait') {
      // A reservation may have been released while the hooks ran. Without any, a second `wait` would never end.
      idle = peersIn(tree).reserving > 0 ? 0 : idle + 1
      if (idle > 1) throw nothingToWaitFor(ctx)
      if (idle === 0) await whenReleased(tree, ctx.signal)
      stopIfAborted(ctx)
      continue
    }
    // Another call was admitted meanwhile: run the hooks again with its reservation.
    if (tree.reservationCount !== reservationCount) continue
    if (admitted.some(([, { reserve }]) => reserve)) {
      tree.reservationCount++
      reservations.expect(call.id, isCounted)
      for (const [{ name }, { reserve }] of admitted) if (reserve) reservations.set(call.id, name, reserve)
    }
    return settingsFor(call, admitted)
  }
}

/** Runs the hooks synchronously where all answers are synchronous, so that no reservation changes in between. */
function askHooks(
  ctx: RunContext,
  planned: PlannedCall,
  by: Extension | undefined,
): MaybePromise<AdmissionAnswers | 'wait'> {
  return runHooks<'model.call', AdmissionAnswers | 'wait'>(ctx, 'model.call', [], {
    hooks: by && ctx.agent.hooks['model.call'].filter(({ extension }) => extension !== by),
    changes: { generate: refuseToGenerate },
    call: (hook, hookContext) => hook(planned, hookContext),
    answered: (answer, admitted, extension) =>
      'wait' in answer || admitted === 'wait' ? 'wait' : [...admitted, [extension, answer]],
    ends: (admitted) => admitted === 'wait',
  })
}

function settingsFor({ params }: PlannedCall, admitted: AdmissionAnswers): ModelSettings {
  let most = params.maxOutputTokens
  for (const [, { maxOutputTokens }] of admitted) {
    if (maxOutputTokens !== undefined) most = Math.min(most ?? Number.POSITIVE_INFINITY, maxOutputTokens)
  }
  return most === params.maxOutputTokens || most === undefined ? params : { ...params, maxOutputTokens: most }
}

/** Releases the reservation of a call that has ended and whose usage is recorded. */
export function releaseReservation({ reservations, tree }: RunContext, id: string): void {
  reservations.drop(id)
  wakeWaiters(tree)
}

/** A nested call would wait for the reservation that this hook is about to make. */
const refuseToGenerate = (): Promise<never> =>
  Promise.reject(
    new ProvostError('generate-refused', 'A model.call hook cannot call ctx.generate.', {
      hint: 'Call it in a model.request or context hook, which run earlier.',
    }),
  )

function nothingToWaitFor(ctx: RunContext): Error {
  const error = new ProvostError(
    'invalid-answer',
    'A model.call hook returned { wait: true }, but no call has a reservation.',
    {
      hint: 'Return { wait: true } only while ctx.tree.reserving is above 0. Otherwise admit the call or stop the run.',
    },
  )
  return hookFailed(ctx, ctx.agent.name, 'model.call', error)
}
