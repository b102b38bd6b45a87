import type { SessionSummaries, SessionSummary } from '@provost/core'
import { clockOf, sleep } from '@provost/core'

import type { ConsoleStore } from './console-store.ts'

/** The changes of all sessions, for any number of readers of this process. */
export interface SessionFeed {
  /** Yields the sessions that changed since the last batch, each once in its latest state. Ends with the signal, and for a reader that is too slow. */
  follow(signal: AbortSignal): AsyncGenerator<readonly SessionSummary[], void, undefined>
  readonly readers: number
}

/** Milliseconds between looks, so a reader receives at most one frame of a session in this time. */
const lookMs = 250
/** Changed sessions that wait for a slow reader. It reconnects, and starts behind the last one that it received. */
const mostWaiting = 1_000

interface Reader {
  readonly changed: Map<string, SessionSummary>
  wake(): void
}

/** One loop looks for the changes of all sessions while the feed has readers. */
export function sessionFeed(stored: ConsoleStore, failed: (thrown: unknown) => void): SessionFeed {
  const readers = new Set<Reader>()
  const clock = clockOf(stored.store)
  let looking = false

  async function look(summaries: SessionSummaries): Promise<void> {
    let mark: string | undefined
    while (readers.size > 0) {
      try {
        const changes = await summaries.changes(mark)
        mark = changes.mark
        for (const reader of readers) {
          for (const summary of changes.sessions) reader.changed.set(summary.id, summary)
          if (changes.sessions.length > 0) reader.wake()
        }
      } catch (thrown) {
        failed(thrown)
      }
      await sleep(clock, lookMs)
    }
  }

  function begin(): void {
    if (looking) return
    looking = true
    void look(stored.summaries).finally(() => {
      looking = false
      // A reader came while the loop ended.
      if (readers.size > 0) begin()
    })
  }

  return {
    get readers() {
      return readers.size
    },
    async *follow(signal) {
      let news = Promise.withResolvers<void>()
      const reader: Reader = { changed: new Map(), wake: () => news.resolve() }
      const leave = (): void => news.resolve()
      signal.addEventListener('abort', leave, { once: true })
      readers.add(reader)
      begin()
      try {
        while (!signal.aborted) {
          await news.promise
          if (signal.aborted || reader.changed.size > mostWaiting) return
          news = Promise.withResolvers<void>()
          const batch = [...reader.changed.values()]
          reader.changed.clear()
          if (batch.length > 0) yield batch
        }
      } finally {
        readers.delete(reader)
        signal.removeEventListener('abort', leave)
      }
    },
  }
}
