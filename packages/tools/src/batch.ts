/** How a batch of calls is run. */
export interface BatchOptions<C> {
  /** Calls under way at the same time; at least 1. */
  readonly maxParallel: number
  mode(call: C): 'parallel' | 'sequential'
  run(call: C): Promise<void>
}

/**
 * Runs calls, starting them in their order: parallel ones up to `maxParallel` at a time, a sequential one alone. Ends
 * when all that were started have ended.
 *
 * @throws what `run` throws first; nothing more is started then.
 *
 * @example
 * await runBatch(calls, { maxParallel: 8, mode: (call) => call.mode, run: (call) => execute(call) })
 */
export async function runBatch<C>(calls: readonly C[], options: BatchOptions<C>): Promise<void> {
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

  for (const call of calls) {
    const alone = options.mode(call) === 'sequential'
    if (alone) await Promise.all(underWay)
    else while (underWay.size >= most) await Promise.race(underWay)
    if (failure) break
    start(call)
    if (alone) await Promise.all(underWay)
  }
  await Promise.all(underWay)
  if (failure) throw failure.error
}
