import type { AgentEvent, TransientBuffer } from '@provost/core'

import type { FeedItem } from './event-feed.ts'
import type { TransientChunk } from './transient-chunk.ts'
import { addTo, closed } from './transient-chunk.ts'

/** Stores the transient events of this process for readers in other processes. */
export interface TransientWriter {
  /** Adds an event of a session that runs here, or of a child in it. */
  push(item: FeedItem): void
  /** Writes the collected events of a log to the store; undefined if all are written. */
  settle(log: string): Promise<void> | undefined
  /** Drops the events that the logs replace, and stops. */
  close(): Promise<void>
}

/** Milliseconds for which events are collected. The time grows with the stored size, so that a ten-minute answer fits. */
const collectMs = 50
const longestMs = 500
/** Milliseconds for which transient events stay after the log replaces them, for readers that are about to reach them. */
const graceMs = 10_000

interface PendingChunks {
  readonly pieces: TransientChunk[]
  last: AgentEvent | undefined
  storedCount: number
  dueAt: number
  /** The buffer is full: nothing is stored until the current answer is in the log. */
  full: boolean
}

/** Creates a writer. It writes all logs in one transaction, at most every {@link collectMs}. */
export function createTransientWriter(buffer: TransientBuffer): TransientWriter {
  const logs = new Map<string, PendingChunks>()
  const announced = new Map<string, { readonly offset: number; readonly at: number }>()
  let timer: NodeJS.Timeout | undefined
  let tickAt = Number.POSITIVE_INFINITY
  let writing: Promise<void> = Promise.resolve()
  let underway = 0

  function pendingChunksOf(log: string): PendingChunks {
    const known = logs.get(log)
    if (known) return known
    const made: PendingChunks = { pieces: [], last: undefined, storedCount: 0, dueAt: 0, full: false }
    logs.set(log, made)
    return made
  }

  /** Ignores failures: the transient buffer is optional, and a failing store fails the run at its appends. */
  function write(names: readonly string[]): Promise<void> {
    const pieces = names.flatMap((log) => {
      const passing = logs.get(log)
      if (!passing) return []
      passing.storedCount += passing.pieces.length
      passing.last = undefined
      return passing.pieces.splice(0).map(closed)
    })
    if (pieces.length === 0) return writing
    underway++
    writing = writing
      .then(() => buffer.keep(pieces))
      .catch(() => names)
      .then((full) => {
        for (const passing of full.map((log) => logs.get(log))) if (passing) passing.full = true
        underway--
      })
    return writing
  }

  /** Records that the log entry replaces the transient events before it. */
  function storeChunks(log: string, offset: number, then: 'goes on' | 'over'): void {
    const passing = logs.get(log)
    if (passing) passing.full = false
    if (then === 'over') {
      void write([log])
      logs.delete(log)
    }
    announced.set(log, { offset, at: performance.now() })
    tickIn(graceMs / 3)
  }

  function drop(before: number): void {
    const places = [...announced].flatMap(([log, { offset, at }]) => (at <= before ? [{ log, offset }] : []))
    if (places.length === 0) return
    for (const { log } of places) {
      announced.delete(log)
      const passing = logs.get(log)
      if (passing) passing.storedCount = 0
    }
    writing = writing.then(() => buffer.drop(places)).catch(() => {})
  }

  function tick(): void {
    tickAt = Number.POSITIVE_INFINITY
    const now = performance.now()
    const due = [...logs].flatMap(([log, { pieces, dueAt }]) => (pieces.length > 0 && dueAt <= now ? [log] : []))
    void write(due)
    drop(now - graceMs)
    if ([...logs.values()].some(({ pieces }) => pieces.length > 0)) tickIn(collectMs)
    else if (announced.size > 0) tickIn(graceMs / 3)
  }

  /** Schedules the next write. An earlier deadline replaces a later one. */
  function tickIn(ms: number): void {
    const at = performance.now() + ms
    if (tickAt <= at) return
    clearTimeout(timer)
    tickAt = at
    timer = setTimeout(tick, ms).unref()
  }

  return {
    push(item) {
      const { event, log, position } = item
      if (!position) return
      if (event.type === 'agent.end') return storeChunks(log, position.offset, 'over')
      if (!position.passing) {
        if (event.type === 'message.end') storeChunks(log, position.offset, 'goes on')
        return
      }
      const passing = pendingChunksOf(log)
      if (passing.full) return
      const open = passing.pieces.at(-1)
      const piece = addTo(open, passing.last, item)
      passing.last = event
      if (!piece || piece === open) return
      if (passing.pieces.length === 0) {
        passing.dueAt = performance.now() + Math.min(longestMs, collectMs + passing.storedCount / 4) - collectMs
      }
      passing.pieces.push(piece)
      tickIn(collectMs)
    },
    settle(log) {
      if ((logs.get(log)?.pieces.length ?? 0) > 0) return write([log])
      return underway > 0 ? writing : undefined
    },
    async close() {
      clearTimeout(timer)
      await write([...logs.keys()])
      drop(Number.POSITIVE_INFINITY)
      await writing
    },
  }
}
