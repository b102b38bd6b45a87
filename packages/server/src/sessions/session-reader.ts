import { pendingWork } from '@provost/agent'
import type { AgentStream } from '@provost/agent'
import type { EventOf, PendingWork, SessionStore } from '@provost/core'

import type { Cursor } from '../stream/cursor.ts'
import { atBeginning } from '../stream/cursor.ts'
import type { FeedItem } from '../stream/event-feed.ts'
import type { ReadCursor, Sent } from '../stream/read-cursor.ts'
import { joined, readCursor } from '../stream/read-cursor.ts'
import { createReaderQueue } from '../stream/reader-queue.ts'
import type { ExecuteComplete } from './completion.ts'
import { completionOf, completionOfResult } from './completion.ts'
import type { LiveSession, WatchedSession } from './live-session.ts'
import { hasNews, worksElsewhere } from './session-end.ts'
import type { SessionHost } from './session-host.ts'
import type { SessionTree } from './session-tree.ts'
import { sessionTree } from './session-tree.ts'

/** Yields batches of events in the order in which they happened; returns the completion, or undefined if it was cut. */
export type SessionEvents = AsyncGenerator<readonly Sent[], ExecuteComplete | undefined, undefined>

/** Options of a reader. */
export interface Reading {
  readonly host: SessionHost
  /** A run of a watched session is not resumed if its process died. */
  readonly live: LiveSession | WatchedSession
  /** Stops reading. */
  readonly signal: AbortSignal
  /** Bytes of live events that may be queued; a slower reader continues from the kept events and the log. */
  readonly waitingBytes: number
}

/**
 * Yields the events of a run that this process starts, from the first one.
 *
 * @param start is called when the reader listens, so that no event is missed.
 */
export function readRun(
  reading: Reading & { readonly live: LiveSession },
  start: () => AgentStream<unknown>,
): { run: AgentStream<unknown>; events: SessionEvents } {
  const { host, live, signal, waitingBytes } = reading
  const queue = createReaderQueue(waitingBytes)
  const stop = live.feed.listen(queue.push)
  let run: AgentStream<unknown>
  try {
    run = start()
  } catch (thrown) {
    stop()
    throw thrown
  }
  const place = readCursor(live.id, atBeginning)
  let over = false
  const result = run.result.finally(() => {
    over = true
    queue.wake()
  })
  const leave = (): void => {
    stop()
    queue.wake()
  }
  signal.addEventListener('abort', leave, { once: true })

  async function* events(): SessionEvents {
    let ending: Ending | undefined
    try {
      while (!signal.aborted) {
        if (over && !queue.ready) break
        const items = await queue.take()
        if (queue.overflown) {
          stop()
          return yield* followSession(reading, place.cursor)
        }
        const own = items.filter(({ event }) => event.runId === run.runId || event.parents.includes(run.runId))
        ending = endingAfter(own, ending)
        const sent = joined(own.flatMap((item) => place.take(item) ?? []))
        if (sent.length > 0) yield sent
      }
      if (signal.aborted) return undefined
      const settled = await result
      // The run made room for others, or waits for children elsewhere, and goes on here or elsewhere.
      if (ending?.pending && isEmpty(ending.pending)) {
        stop()
        return yield* followSession(reading, place.cursor)
      }
      return ending?.end
        ? completionOf(live.id, ending.end, ending.pending)
        : completionOfResult(settled, host.redaction)
    } finally {
      stop()
      signal.removeEventListener('abort', leave)
    }
  }
  return { run, events: events() }
}

function isEmpty({ approvals, remoteCalls, uncertain, inputs }: PendingWork): boolean {
  return approvals.length + remoteCalls.length + uncertain.length + inputs.length === 0
}

/** The end of the run as its last events report it. */
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

function runsHere({ running }: SessionHost, id: string): LiveSession | undefined {
  for (const live of running) if (live.id === id) return live
  return undefined
}

/** How a session is followed. */
export interface Following {
  /** Stays open while no run is active. Default: ends then. */
  readonly stays?: boolean
}

/** Milliseconds between polls of a run in another process, beside the store's hints: while it streams, is silent, and is suspended. */
const soonMs = 60
const silentMs = 300
const lookMs = 1_000

/**
 * Yields the events of a session after a cursor until no run is active, in whatever process it runs. Durable events come
 * once. Transient events come once too, if this process or the store's buffer still has them.
 */
export async function* followSession(reading: Reading, after: Cursor, following: Following = {}): SessionEvents {
  const { host, live, signal } = reading
  const { stays = false } = following
  const { store } = host
  const retained = (): readonly FeedItem[] => live.feed.retained().filter((item) => !isRefusal(item))
  const tree = sessionTree(store, live.id, host.redaction, store.transient, retained)
  const place = readCursor(live.id, after)
  const watching = watch(store, live.id, signal)
  let waitMs = soonMs
  let lookAt = 0
  try {
    for (;;) {
      const left = yield* localEvents(
        { ...reading, live: live.agent ? live : (runsHere(host, live.id) ?? live) },
        place,
        tree,
      )
      if (signal.aborted) return undefined
      if (left === 'behind') continue
      for await (const sent of tree.read(place)) {
        waitMs = soonMs
        yield sent
      }
      const { run, waits } = tree.state
      const isDue =
        run?.status === 'running' ||
        (run?.status === 'suspended' && (run.yielded || (await hasNews(store, live.id, waits))))
      const isRunning = run?.status === 'running' || worksElsewhere(tree.state)
      if (!isDue && !isRunning && live.session.status !== 'running') {
        if (stays) {
          await watching.next(lookMs)
          if (signal.aborted) return undefined
          continue
        }
        const { end } = tree
        return completionOf(live.id, end?.runId === run?.id ? end : undefined, pendingWork(tree.state))
      }
      if (live.agent && isDue && live.session.status !== 'running' && performance.now() >= lookAt) {
        await host.recover(live)
        lookAt = performance.now() + lookMs
      }
      if (live.session.status !== 'running') {
        const hinted = await watching.next(store.transient ? waitMs : lookMs)
        waitMs = hinted ? soonMs : Math.min(isRunning ? silentMs : lookMs, waitMs * 2)
      }
      if (signal.aborted) return undefined
    }
  } finally {
    watching.stop()
  }
}

/** Yields the events of a session with an active run in this process, until it is idle or the reader falls behind. */
async function* localEvents(
  { live, signal, waitingBytes }: Reading,
  place: ReadCursor,
  tree: SessionTree,
): AsyncGenerator<readonly Sent[], 'over' | 'behind'> {
  if (live.session.status !== 'running') return 'over'
  const queue = createReaderQueue(waitingBytes)
  const stop = live.feed.listen(queue.push)
  signal.addEventListener('abort', queue.wake, { once: true })
  const toSend = (items: readonly FeedItem[], torn: boolean): readonly Sent[] =>
    joined(items.flatMap((item) => (isRefusal(item) ? [] : (place.take(item, torn) ?? []))))
  try {
    let items = live.feed.since(place.cursor)
    const torn = items === undefined
    if (!items) {
      // Events that happen while the logs are read are queued; those that the logs contained are skipped.
      items = live.feed.retained()
      yield* tree.read(place)
    }
    const kept = toSend(items, torn)
    if (kept.length > 0) yield kept
    let over = live.session.status !== 'running'
    const idle = live.idle
    if (idle) {
      void idle.then(() => {
        over = true
        queue.wake()
      })
    }
    while (!signal.aborted) {
      if (over && !queue.ready) break
      const taken = await queue.take()
      // Before the cursor passes the taken events: they are read again.
      if (queue.overflown) return 'behind'
      const sent = toSend(taken, torn)
      if (sent.length > 0) yield sent
    }
    return 'over'
  } finally {
    stop()
    signal.removeEventListener('abort', queue.wake)
  }
}

/** Whether an event reports that resuming was rejected, since another process has the run or it has ended. The log has its status. */
function isRefusal({ event, position }: FeedItem): boolean {
  if (event.parents.length > 0 || position?.passing !== true) return false
  if (event.type !== 'agent.error') return event.type === 'agent.end'
  const { kind, name } = event.source
  return kind === 'loop' || (kind === 'store' && name === 'lease')
}

/** Returns the hints of a store, one at a time. */
function watch(
  store: SessionStore,
  id: string,
  signal: AbortSignal,
): { next(ms: number): Promise<boolean>; stop(): void } {
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
        // Entries from before the start of the watch need a look at once.
        return true
      }
      if (!hinted && !either.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          notify = () => (clearTimeout(timer), resolve())
          either.addEventListener('abort', notify, { once: true })
        })
        either.removeEventListener('abort', notify ?? (() => {}))
        notify = undefined
      }
      const was = hinted
      hinted = false
      return was
    },
    stop: () => stopped.abort(),
  }
}
