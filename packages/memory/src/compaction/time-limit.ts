import type { HookContext, MaybePromise } from '@provost/core'
import { ProvostError } from '@provost/core'

/**
 * What `work` gives, if it comes in time. Work that ignores its signal is not waited for.
 *
 * @throws ProvostError `timeout`; the signal's reason once it aborts.
 */
export function inTime<T>(
  ctx: Pick<HookContext, 'within'>,
  timeoutMs: number,
  what: string,
  work: (signal: AbortSignal) => MaybePromise<T>,
): Promise<T> {
  // The time of the hook itself stands still: this limit comes first, and says what was slow.
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
        hint: 'Give it more time, or let it do less.',
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
