/** The abort signal of one call, created on first use. */
export interface CallSignal {
  get(): AbortSignal
  /** Aborts the signal, if it was created. */
  abort(reason: unknown): void
  /** Stops following the run's signal, so that a long run does not retain calls that have ended. */
  release(): void
}

/** @param parent what it follows. */
export function createCallSignal(parent: AbortSignal): CallSignal {
  let controller: AbortController | undefined
  let ended: { readonly reason: unknown } | undefined
  let released = false
  const follow = (): void => controller?.abort(parent.reason)
  return {
    get() {
      if (controller) return controller.signal
      controller = new AbortController()
      if (ended) controller.abort(ended.reason)
      else if (parent.aborted) follow()
      else if (!released) parent.addEventListener('abort', follow, { once: true })
      return controller.signal
    },
    abort(reason) {
      ended = { reason }
      controller?.abort(reason)
    },
    release() {
      released = true
      if (controller) parent.removeEventListener('abort', follow)
    },
  }
}
