import type { HookContext, MaybePromise } from '@provost/core'
import { ProvostError } from '@provost/core'

/**
 * Returns the result of `work` within the time limit. It does not wait for work that ignores its signal.
 *
 * @throws ProvostError `timeout`; the signal's reason once it aborts.
 */
export function inTime<T>(
  ctx: Pick<HookContext, 'within'>,
  timeoutMs: number,
  what: string,
  work: (signal: AbortSignal) => MaybePromise<T>,
): Promise<T> {
  // The hook's own time limit is extended, so that this limit expires first and names the slow part.
  return ctx.within(timeoutMs + 1000, (outer) => timed(outer, timeoutMs, what, work))
}

async function timed<T>(
  outer: AbortSignal,
  timeoutMs: number,
  what: string,
  work: (signal: AbortSignal) => MaybePromise<T>,
): Promise<T> {
  const own = new AbortController()
  const signal = AbortSignal.any([outer, own.signal])
  const over = Promise.withResolvers<never>()
  const end = (): void => over.reject(signal.reason)
  const timer = setTimeout(() => {
    own.abort(
      new ProvostError('timeout', `${what} took longer than ${timeoutMs} ms.`, {
        hint: 'Raise its time limit, or reduce its work.',
        retryable: true,
      }),
    )
  }, timeoutMs)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await Promise.race([over.promise, (async () => work(signal))()])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}
