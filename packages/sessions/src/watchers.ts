/** Those who wait for news of sessions. */
export interface Watchers {
  /** Sessions that somebody watches. */
  readonly watched: ReadonlySet<string>
  /** Yields when the session may have something new; ends with the signal, or when all is closed. */
  watch(sessionId: string, signal: AbortSignal): AsyncIterable<void>
  wake(sessionId: string): void
  wakeAll(): void
  /** Ends them all. */
  close(): void
}

/** What a store does while somebody watches. */
export interface WatcherHooks {
  /** Somebody watches a session that nobody watched. */
  begun?(sessionId: string): void
  /** Nobody watches it any more. */
  ended?(sessionId: string): void
}

/** Nobody waits yet. */
export function createWatchers(hooks: WatcherHooks = {}): Watchers {
  const bySession = new Map<string, Set<() => void>>()
  const closing = new AbortController()

  function join(sessionId: string, notify: () => void): void {
    const known = bySession.get(sessionId)
    if (known) known.add(notify)
    else {
      bySession.set(sessionId, new Set([notify]))
      hooks.begun?.(sessionId)
    }
  }

  function leave(sessionId: string, notify: () => void): void {
    const known = bySession.get(sessionId)
    known?.delete(notify)
    if (known?.size !== 0) return
    bySession.delete(sessionId)
    hooks.ended?.(sessionId)
  }

  function wake(sessionId: string): void {
    for (const notify of bySession.get(sessionId) ?? []) notify()
  }

  return {
    get watched() {
      return new Set(bySession.keys())
    },
    async *watch(sessionId, signal) {
      let news = Promise.withResolvers<void>()
      const notify = (): void => news.resolve()
      const over = (): boolean => signal.aborted || closing.signal.aborted
      if (over()) return
      join(sessionId, notify)
      signal.addEventListener('abort', notify, { once: true })
      closing.signal.addEventListener('abort', notify, { once: true })
      try {
        while (!over()) {
          await news.promise
          news = Promise.withResolvers<void>()
          if (!over()) yield
        }
      } finally {
        signal.removeEventListener('abort', notify)
        closing.signal.removeEventListener('abort', notify)
        leave(sessionId, notify)
      }
    },
    wake,
    wakeAll() {
      for (const sessionId of bySession.keys()) wake(sessionId)
    },
    close: () => closing.abort(),
  }
}
