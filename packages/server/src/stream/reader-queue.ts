import type { FeedItem } from './event-feed.ts'

/** Events that wait for one reader. */
export interface ReaderQueue {
  push(item: FeedItem): void
  /** Resolves with all queued events, or with the next one when none is queued. Empty after `wake`. */
  take(): Promise<readonly FeedItem[]>
  /** Resolves a pending `take`. */
  wake(): void
  /** Whether an event is queued. */
  readonly ready: boolean
  /** Whether the reader fell behind `limit`. */
  readonly overflown: boolean
}

/** @param limit bytes that may wait, counted as characters. */
export function createReaderQueue(limit: number): ReaderQueue {
  let waiting: FeedItem[] = []
  let size = 0
  let overflown = false
  let notify: (() => void) | undefined

  function wake(): void {
    notify?.()
    notify = undefined
  }

  function drain(): readonly FeedItem[] {
    const items = waiting
    waiting = []
    size = 0
    return items
  }

  return {
    push(item) {
      if (overflown) return
      waiting.push(item)
      // A reader that keeps up has at most one event queued, which is not measured.
      if (waiting.length > 1) size += item.json().length
      if (size > limit) {
        overflown = true
        drain()
      }
      wake()
    },
    async take() {
      if (waiting.length === 0 && !overflown) await new Promise<void>((resolve) => (notify = resolve))
      return drain()
    },
    wake,
    get ready() {
      return waiting.length > 0 || overflown
    },
    get overflown() {
      return overflown
    },
  }
}
