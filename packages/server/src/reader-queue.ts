import type { AgentEvent } from '@provost/core'

import type { FeedItem } from './feed.ts'
import { feedItem } from './feed.ts'

/** Events that wait for one reader. */
export interface ReaderQueue {
  push(item: FeedItem): void
  /** All that waits; when nothing does, what comes next. Empty when the queue was woken for nothing. */
  take(): Promise<readonly FeedItem[]>
  /** What waits is of no use: it is got in another way. */
  clear(): void
  /** Lets go whoever waits. */
  wake(): void
  /** Something waits. */
  readonly ready: boolean
  /** The reader is too slow. */
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
      // A reader that keeps up has nothing waiting: only what piles up is measured.
      if (waiting.length > 1) size += item.json().length
      if (size > limit) {
        overflown = true
        drain()
      }
      wake()
    },
    async take() {
      if (waiting.length === 0 && !overflown) await new Promise<void>((resolve) => (notify = resolve))
      return joined(drain())
    },
    clear: () => void drain(),
    wake,
    get ready() {
      return waiting.length > 0 || overflown
    },
    get overflown() {
      return overflown
    },
  }
}

/** Deltas of one part that wait side by side become one, before they are numbered. */
function joined(items: readonly FeedItem[]): readonly FeedItem[] {
  if (items.length < 2) return items
  const out: FeedItem[] = []
  for (const item of items) {
    const before = out.at(-1)
    const sum = before && sumOf(before.event, item.event)
    if (sum) out[out.length - 1] = feedItem(sum, item.position)
    else out.push(item)
  }
  return out
}

function sumOf(a: AgentEvent, b: AgentEvent): AgentEvent | undefined {
  if (a.runId !== b.runId) return undefined
  if (
    (a.type === 'text.delta' && b.type === 'text.delta') ||
    (a.type === 'reasoning.delta' && b.type === 'reasoning.delta')
  ) {
    if (a.messageId !== b.messageId || a.partId !== b.partId || a.attempt !== b.attempt) return undefined
    return { ...b, delta: a.delta + b.delta }
  }
  return undefined
}
