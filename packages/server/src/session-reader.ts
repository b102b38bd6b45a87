import { logEvents, pendingWork } from '@provost/agent'
import type { AgentStream, LogEvents } from '@provost/agent'
import type { EventOf, PendingWork, SessionStore } from '@provost/core'

import type { ExecuteComplete } from './completion.ts'
import { completionOf, completionOfResult } from './completion.ts'
import type { FeedItem } from './feed.ts'
import { feedItem } from './feed.ts'
import type { LiveSession } from './live-session.ts'
import type { Position } from './position.ts'
import { isBehind } from './position.ts'
import { createReaderQueue } from './reader-queue.ts'
import type { SessionHost } from './session-host.ts'
import { hasNews } from './session-host.ts'

/** Events in the order in which they happened, a batch at a time, and at the end how it stands. */
export type SessionEvents = AsyncGenerator<readonly FeedItem[], ExecuteComplete | undefined, undefined>

/** How somebody reads. */
export interface Reading {
  readonly host: SessionHost
  readonly live: LiveSession
  /** Ends the reading. */
  readonly signal: AbortSignal
  /** Bytes that may wait. */
  readonly waitingBytes: number
}

/** The reader did not take what came. It can come back for the rest. */
export class SlowReader extends Error {}

/**
 * The events of a run that this process starts, from its first.
 *
 * @param start is called once somebody listens, so that no event is missed.
 */
export function readRun(
  reading: Reading,
  start: () => AgentStream<unknown>,
): { run: AgentStream<unknown>; events: SessionEvents } {
  const { live, signal, waitingBytes } = reading
  const queue = createReaderQueue(waitingBytes)
  const stop = live.feed.listen(queue.push)
  let run: AgentStream<unknown>
  try {
    run = start()
  } catch (thrown) {
    stop()
    throw thrown
  }
  let over = false
  const result = run.result.finally(() => {
    over = true
    queue.wake()
  })
  signal.addEventListener('abort', queue.wake, { once: true })

  async function* events(): SessionEvents {
    let ending: Ending | undefined
    try {
      while (!signal.aborted) {
        if (over && !queue.ready) break
        const items = await queue.take()
        if (queue.overflown) throw new SlowReader()
        const own = items.filter(({ event }) => event.runId === run.runId || event.parents.includes(run.runId))
        ending = endingAfter(own, ending)
        if (own.length > 0) yield own
      }
      if (signal.aborted) return undefined
      const settled = await result
      return ending?.end ? completionOf(live.id, ending.end, ending.pending) : completionOfResult(settled)
    } finally {
      stop()
      signal.removeEventListener('abort', queue.wake)
    }
  }
  return { run, events: events() }
}

/** What the last events said of the run's end. */
interface Ending {
  readonly pending?: PendingWork
  readonly end?: EventOf<'agent.end'>
}

function endingAfter(items: readonly FeedItem[], before: Ending | undefined): Ending | undefined {
  let ending = before
  for (const { event } of items) {
    if (event.parents.length > 0) continue
    if (event.type === 'agent.suspended') ending = { pending: event.pending }
    else if (event.type === 'agent.end') ending = { ...ending, end: event }
  }
  return ending
}

/** Milliseconds between looks at a run that goes on elsewhere, beside the hints of the store. */
const lookMs = 1_000

/**
 * The events of a session behind a position, wherever its run goes on, until none does. What passes is given where this
 * process has it; what lasts is given in any case, once.
 */
export async function* followSession(reading: Reading, after: Position): SessionEvents {
  const { host, live, signal } = reading
  const { store } = host
  const log = logEvents(live.id)
  let position = after
  let end: EventOf<'agent.end'> | undefined
  const watching = watch(store, live.id, signal)
  try {
    for (;;) {
      for await (const items of localEvents(reading, position)) {
        position = lastPosition(items) ?? position
        yield items
      }
      if (signal.aborted) return undefined
      for await (const item of readOn(store, log, live.id)) {
        if (item.event.type === 'agent.end') ({ event: end } = { event: item.event })
        if (!item.position || !isBehind(item.position.offset, item.position.n, position)) continue
        if (!item.unmarked) ({ position } = item)
        yield [item]
      }
      const { run, waits } = log.state
      const open = run?.status === 'running' || (run?.status === 'suspended' && (await hasNews(store, live.id, waits)))
      if (!open && live.session.status !== 'running') {
        return completionOf(live.id, end?.runId === run?.id ? end : undefined, pendingWork(log.state))
      }
      if (live.session.status !== 'running') await host.recover(live)
      if (live.session.status !== 'running') await watching.next(lookMs)
      if (signal.aborted) return undefined
    }
  } finally {
    watching.stop()
  }
}

/** What the process has of a session in which something goes on here; nothing where nothing does. */
async function* localEvents(
  { host, live, signal, waitingBytes }: Reading,
  after: Position,
): AsyncGenerator<readonly FeedItem[]> {
  if (live.session.status !== 'running') return
  const queue = createReaderQueue(waitingBytes)
  const stop = live.feed.listen(queue.push)
  signal.addEventListener('abort', queue.wake, { once: true })
  try {
    const kept = live.feed.since(after)
    if (kept) {
      if (kept.length > 0) yield kept
    } else {
      const log = logEvents(live.id)
      for await (const item of readOn(host.store, log, live.id)) {
        if (item.position && isBehind(item.position.offset, item.position.n, after)) yield [item]
      }
      const read = log.state.entries.at(-1)?.offset ?? 0
      // All that waits is among what is kept, and what passed before somebody listened too.
      queue.clear()
      const rest = live.feed.kept().filter(({ position }) => position !== undefined && isFresh(position, read, after))
      if (rest.length > 0) yield rest
    }
    let over = live.session.status !== 'running'
    const idle = live.idle
    if (idle) {
      void idle.then(() => {
        over = true
        queue.wake()
      })
    }
    while (!signal.aborted) {
      if (over && !queue.ready) return
      const items = await queue.take()
      if (queue.overflown) throw new SlowReader()
      if (items.length > 0) yield items
    }
  } finally {
    stop()
    signal.removeEventListener('abort', queue.wake)
  }
}

/** Whether something kept lies behind the log as it was read. */
function isFresh({ offset, n, passing }: Position, read: number, after: Position): boolean {
  if (offset !== read) return offset > read
  if (!passing) return false
  return !(after.passing && after.offset === offset && n <= after.n)
}

function lastPosition(items: readonly FeedItem[]): Position | undefined {
  return items.findLast((item) => item.position !== undefined)?.position
}

async function* readOn(store: SessionStore, log: LogEvents, id: string): AsyncGenerator<FeedItem> {
  for await (const entry of store.read(id, log.state.entries.at(-1)?.offset ?? 0)) {
    for (const logged of log.take(entry)) yield itemOf(logged)
  }
  for (const logged of log.end()) yield itemOf(logged)
}

function itemOf({ event, offset, n }: ReturnType<LogEvents['end']>[number]): FeedItem {
  const passes = event.id.startsWith('~', event.id.search(/[.~]\d+$/u))
  return feedItem(event, { offset, n, passing: false }, passes ? true : undefined)
}

/** Hints of a store, taken one at a time. */
function watch(
  store: SessionStore,
  id: string,
  signal: AbortSignal,
): { next(ms: number): Promise<void>; stop(): void } {
  const stopped = new AbortController()
  const either = AbortSignal.any([signal, stopped.signal])
  let hinted = false
  let notify: (() => void) | undefined
  let begun = false
  async function listen(): Promise<void> {
    for await (const _ of store.watch(id, either)) {
      hinted = true
      notify?.()
    }
  }
  return {
    async next(ms) {
      if (!begun) {
        begun = true
        listen().catch(() => {})
        // What came before the watch began is looked for at once.
        return
      }
      if (!hinted && !either.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          notify = () => (clearTimeout(timer), resolve())
          either.addEventListener('abort', notify, { once: true })
        })
        notify = undefined
      }
      hinted = false
    },
    stop: () => stopped.abort(),
  }
}
