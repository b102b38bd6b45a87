import type { Extension, MaybePromise } from '@provost/core'
import { ProvostError, isPromise } from '@provost/core'

import type { PendingHook, HookTime } from '../types/hooks.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'

/** The default `hookTimeoutMs` of an agent, in milliseconds. */
export const defaultHookTimeoutMs = 30_000

/** The longest delay of a timer: 24 days. A longer limit means no limit. */
const longestMs = 2 ** 31 - 1

/** The time limit and the running times of hooks: those of a run, or of a session that closes. */
export interface HookClock extends Pick<RunContext, 'hookTimes' | 'signal'> {
  readonly agent: Pick<ResolvedAgent, 'hookTimeoutMs'>
}

function timeOf({ hookTimes }: HookClock, extension: Extension): HookTime {
  let time = hookTimes.get(extension)
  if (!time)
    hookTimes.set(extension, (time = { pendingHooks: new Set(), pauses: 0, abort: undefined, signal: undefined }))
  return time
}

/**
 * Returns the answer of a hook within the time limit of its agent. A synchronous answer costs nothing.
 *
 * @param what the name of the hook, for the message.
 * @throws ProvostError `hook-timeout`
 */
export function inHookTime<T>(
  scope: HookClock,
  extension: Extension,
  what: string,
  answer: MaybePromise<T>,
): MaybePromise<T> {
  if (!isPromise(answer)) return answer
  const limit = scope.agent.hookTimeoutMs
  if (!(limit <= longestMs)) return answer
  const time = timeOf(scope, extension)
  return new Promise((resolve, reject) => {
    const one: PendingHook = {
      remainingMs: limit,
      since: 0,
      timer: undefined,
      onTimeout() {
        time.pendingHooks.delete(one)
        const error = timeOut(`The ${what} hook of ${extension.name} did not answer within ${limit} ms.`)
        reject(error)
        time.abort?.abort(error)
        time.abort = undefined
        time.signal = undefined
      },
    }
    const done = (): void => {
      stop(one)
      time.pendingHooks.delete(one)
    }
    time.pendingHooks.add(one)
    if (time.pauses === 0) start(one)
    // A thenable may answer with another one; the limit holds for both.
    Promise.resolve(answer).then(
      (given) => {
        done()
        resolve(given)
      },
      (thrown: unknown) => {
        done()
        reject(thrown)
      },
    )
  })
}

function start(one: PendingHook): void {
  one.since = performance.now()
  // Keeps the process alive: a script would end without a result otherwise.
  one.timer = setTimeout(one.onTimeout, one.remainingMs)
}

function stop(one: PendingHook): void {
  if (one.timer === undefined) return
  clearTimeout(one.timer)
  one.timer = undefined
  one.remainingMs = Math.max(0, one.remainingMs - (performance.now() - one.since))
}

/** Runs work with separate limits. The timers of the extension's hooks pause meanwhile. */
export async function withoutHookTime<T>(ctx: RunContext, extension: Extension, work: () => Promise<T>): Promise<T> {
  const time = timeOf(ctx, extension)
  time.pauses++
  if (time.pauses === 1) for (const one of time.pendingHooks) stop(one)
  try {
    return await work()
  } finally {
    time.pauses--
    if (time.pauses === 0) for (const one of time.pendingHooks) start(one)
  }
}

/** Returns the signal that aborts the hooks of an extension. */
export function hookSignal(scope: HookClock, extension: Extension): AbortSignal {
  if (!(scope.agent.hookTimeoutMs <= longestMs)) return scope.signal
  const time = timeOf(scope, extension)
  time.abort ??= new AbortController()
  return (time.signal ??= AbortSignal.any([scope.signal, time.abort.signal]))
}

/** Runs work of a hook with a separate time limit. */
export function withinLimit<T>(
  ctx: RunContext,
  extension: Extension,
  timeoutMs: number,
  work: (signal: AbortSignal) => MaybePromise<T>,
): Promise<T> {
  return withoutHookTime(ctx, extension, async () => {
    const own = new AbortController()
    const signal = AbortSignal.any([ctx.signal, own.signal])
    const late = Promise.withResolvers<never>()
    const end = (): void => late.reject(signal.reason)
    const over = (): void => own.abort(timeOut(`Work of ${extension.name} took longer than ${timeoutMs} ms.`))
    const timer = timeoutMs <= longestMs ? setTimeout(over, timeoutMs) : undefined
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    try {
      return await Promise.race([late.promise, (async () => work(signal))()])
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
    }
  })
}

function timeOut(message: string): ProvostError {
  return new ProvostError('hook-timeout', message, {
    hint: 'Raise hookTimeoutMs of the agent, or do long work in ctx.within(), which has a separate limit.',
  })
}
