import type { SessionStore } from '@provost/core'

/** The part of a session that has news. */
export type NewsOf = 'log' | 'inbox'

/** Watchers that wait for news of sessions. */
export interface Watchers {
  /** Ids of the watched sessions. */
  readonly watched: ReadonlySet<string>
  /** Yields when the session may have something new; ends with the signal, or when all is closed. */
  readonly watch: SessionStore['watch']
  /** Wakes the watchers of a session. @param of part with news; default: any part. */
  wake(sessionId: string, of?: NewsOf): void
  wakeAll(): void
  /** Ends all watchers, those that start later included. */
  close(): void
}

/** Callbacks of a store for the first and the last watcher of a session. */
export interface WatcherHooks {
  /** Called when a session gets its first watcher. */
  begun?(sessionId: string): void
  /** Called when a session loses its last watcher. */
  ended?(sessionId: string): void
}

interface Watcher {
  readonly of: 'inbox' | undefined
  notify(): void
}

/**
 * Creates an empty set of watchers: the `watch` of a store, and what wakes it. A store wakes a session after each append to
 * a log, each delivery and each deletion. A store of several processes also listens or polls while a session is watched,
 * from `begun` to `ended`.
 *
 * @example
 * const watchers = createWatchers()
 * const store = { ...rest, watch: watchers.watch }
 * watchers.wake(log, 'log') // at the end of append
 */
export function createWatchers(hooks: WatcherHooks = {}): Watchers {
  const bySession = new Map<string, Set<Watcher>>()
  let closed = false

  function join(sessionId: string, watcher: Watcher): void {
    const known = bySession.get(sessionId)
    if (known) known.add(watcher)
    else {
      bySession.set(sessionId, new Set([watcher]))
      hooks.begun?.(sessionId)
    }
  }

  function leave(sessionId: string, watcher: Watcher): void {
    const known = bySession.get(sessionId)
    known?.delete(watcher)
    if (known?.size !== 0) return
    bySession.delete(sessionId)
    hooks.ended?.(sessionId)
  }

  function wake(sessionId: string, of?: NewsOf): void {
    const known = bySession.get(sessionId)
    if (!known) return
    for (const watcher of known) if (of !== 'log' || watcher.of !== 'inbox') watcher.notify()
  }

  return {
    get watched() {
      return new Set(bySession.keys())
    },
    async *watch(sessionId, signal, of) {
      let news = Promise.withResolvers<void>()
      const notify = (): void => news.resolve()
      const watcher: Watcher = { of, notify }
      const over = (): boolean => signal.aborted || closed
      if (over()) return
      join(sessionId, watcher)
      signal.addEventListener('abort', notify, { once: true })
      try {
        while (!over()) {
          await news.promise
          news = Promise.withResolvers<void>()
          if (!over()) yield
        }
      } finally {
        signal.removeEventListener('abort', notify)
        leave(sessionId, watcher)
      }
    },
    wake,
    wakeAll() {
      for (const sessionId of bySession.keys()) wake(sessionId)
    },
    close() {
      closed = true
      for (const [sessionId, known] of bySession) {
        for (const watcher of known) watcher.notify()
        hooks.ended?.(sessionId)
      }
      // Watchers that stop iterating are dropped here.
      bySession.clear()
    },
  }
}
