/** How a batch of calls is run. */
export interface BatchOptions<C> {
  /** Calls under way at the same time; at least 1. */
  readonly maxParallel: number
  mode(call: C): 'parallel' | 'sequential'
  run(call: C): Promise<void>
  /** Asked before each start; once it says true, nothing more is started. */
  stopped?(): boolean
}

/**
 * Runs calls, starting them in their order: parallel ones up to `maxParallel` at a time, a sequential one alone. Ends
 * when all that were started have ended.
 *
 * @returns the calls that were never started because of `stopped`.
 * @throws what `run` throws first; nothing more is started then.
 *
 * @example
 * const left = await runBatch(calls, { maxParallel: 8, mode: (call) => call.mode, run: (call) => execute(call) })
 */
export async function runBatch<C>(calls: readonly C[], options: BatchOptions<C>): Promise<readonly C[]> {
  const most = Math.max(1, options.maxParallel)
  const underWay = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  const start = (call: C): void => {
    const one: Promise<void> = options.run(call).then(
      () => void underWay.delete(one),
      (error: unknown) => {
        underWay.delete(one)
        failure ??= { error }
      },
    )
    underWay.add(one)
  }

  let next = 0
  for (const call of calls) {
    const alone = options.mode(call) === 'sequential'
    if (alone) await Promise.all(underWay)
    else while (underWay.size >= most) await Promise.race(underWay)
    if (failure || options.stopped?.()) break
    start(call)
    next++
    if (alone) await Promise.all(underWay)
  }
  await Promise.all(underWay)
  if (failure) throw failure.error
  return calls.slice(next)
}
