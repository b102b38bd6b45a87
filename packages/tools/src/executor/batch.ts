import { isPromise } from '@provost/core'

import { createSlots } from './slots.ts'
import type { Slots } from './slots.ts'

/** Options of a batch. */
export interface BatchOptions<C> {
  /** Calls that run at the same time, at least 1, or slots that are shared with other batches. */
  readonly maxParallel: number | Slots
  mode(call: C): 'parallel' | 'sequential'
  /** `leave` frees the slot of the call before it ends. */
  run(call: C, leave: () => void): Promise<void>
}

/**
 * Runs calls, starting them in their order: parallel ones up to `maxParallel` at a time, a sequential one alone. Ends
 * when all that were started have ended.
 *
 * @throws the first error of `run`; no further call is started.
 *
 * @example
 * await runBatch(calls, { maxParallel: 8, mode: (call) => call.mode, run: (call) => execute(call) })
 */
export async function runBatch<C>(calls: readonly C[], options: BatchOptions<C>): Promise<void> {
  const { maxParallel } = options
  const slots = typeof maxParallel === 'number' ? createSlots(maxParallel) : maxParallel
  const underWay: Promise<void>[] = []
  let failure: { readonly error: unknown } | undefined
  for (const call of calls) {
    const entering = slots.enter(options.mode(call))
    const leave = isPromise(entering) ? await entering : entering
    if (failure) {
      leave()
      break
    }
    underWay.push(
      options.run(call, leave).then(leave, (error: unknown) => {
        failure ??= { error }
        leave()
      }),
    )
  }
  await Promise.all(underWay)
  if (failure) throw failure.error
}
