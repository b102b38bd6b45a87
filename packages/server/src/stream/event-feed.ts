import type { AgentEvent } from '@provost/core'
import { childKey } from '@provost/core'

import type { ClientRedaction } from '../http/public-errors.ts'
import type { Cursor } from './cursor.ts'
import type { EventPosition } from './event-position.ts'
import { compare, placeOf } from './event-position.ts'

/** An event on its way to clients. */
export interface FeedItem {
  readonly event: AgentEvent
  /** Log of the session, or of the child that emitted the event. */
  readonly log: string
  /** Absent if a reader cannot resume at this event. */
  readonly position?: EventPosition
  /** Position of the session's own log when the event happened. */
  readonly sessionPosition?: EventPosition
  /** The event shares its position with the next one and is replayed with it. */
  readonly isUnpositioned?: true
  /** The event as JSON without its number, which differs for each reader. */
  json(): string
}

/** The recent events of a session that runs in this process, and their listeners. */
export interface EventFeed {
  push(event: AgentEvent, offset: () => number): void
  /** Returns the kept events after a cursor, with some before it; undefined if an event after it is not kept. */
  since(cursor: Cursor): readonly FeedItem[] | undefined
  retained(): readonly FeedItem[]
  /** The session is idle: keeps only a few events, for readers that reconnect. */
  trim(): void
  /** Stops publishing: clients do not receive the events of a run that this process leaves. */
  stopPublishing(): void
  /** @returns stops listening. */
  listen(listener: (item: FeedItem) => void): () => void
  readonly listeners: number
}

/** Events about a wait have its token as their id; each is the first event of its entry. */
const ofWait: ReadonlySet<string> = new Set([
  'tool.approval.requested',
  'tool.approval.resolved',
  'tool.remote.requested',
  'tool.remote.resolved',
  'input.requested',
  'input.resolved',
])

const keptAtRest = 100

/**
 * @param redaction removes from each event what clients may not receive.
 * @param pass receives each event before the listeners.
 */
export function createEventFeed(
  sessionId: string,
  keep: number,
  redaction: ClientRedaction,
  pass?: (item: FeedItem) => void,
): EventFeed {
  let items: FeedItem[] = []
  let muted = false
  let sessionPosition: EventPosition | undefined
  /** Log of each run. */
  const logs = new Map<string, string>()
  const listeners = new Set<(item: FeedItem) => void>()

  function itemOf(event: AgentEvent, offset: () => number): FeedItem {
    const waits = ofWait.has(event.type)
    const place = waits ? undefined : placeOf(event.id)
    if (place && event.parents.length > 0 && !logs.has(event.runId)) logs.set(event.runId, place.log)
    const log = event.parents.length === 0 ? sessionId : (place?.log ?? logs.get(event.runId) ?? sessionId)
    const position = waits ? { offset: offset(), n: 0, passing: false } : place?.position
    if (log === sessionId) sessionPosition = position ?? sessionPosition
    return shared(feedItem(redaction.event(event), log, { position, ...(log !== sessionId && { sessionPosition }) }))
  }

  return {
    push(event, offset) {
      if (muted) return
      const item = itemOf(event, offset)
      pass?.(item)
      items.push(item)
      // Trimmed at twice the limit, so that a push costs constant time on average.
      if (items.length > keep * 2) items = items.slice(-keep)
      for (const listener of listeners) listener(item)
    },
    since({ root, children }) {
      const starts = new Map([[sessionId, root], ...[...children].filter(([, { offset }]) => offset > 0)])
      for (let index = items.length - 1; index >= 0; index--) {
        const { log, position } = items[index] ?? {}
        if (log === undefined || !position) continue
        const key = log === sessionId ? log : (childKey(log) ?? '')
        const at = starts.get(key)
        if (at && compare(at, position) === 0) starts.delete(key)
        if (starts.size === 0) return items.slice(index)
      }
      return undefined
    },
    retained: () => items.slice(),
    trim() {
      // Drops the cached JSON texts.
      items = items.slice(-keptAtRest).map((item) => feedItem(item.event, item.log, item))
      logs.clear()
    },
    stopPublishing() {
      muted = true
    },
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    get listeners() {
      return listeners.size
    },
  }
}

export function feedItem(
  event: AgentEvent,
  log: string,
  {
    position,
    sessionPosition,
    isUnpositioned,
  }: {
    readonly position?: EventPosition | undefined
    readonly sessionPosition?: EventPosition | undefined
    readonly isUnpositioned?: boolean
  },
): FeedItem {
  return {
    event,
    log,
    ...(position && { position }),
    ...(sessionPosition && { sessionPosition }),
    ...(isUnpositioned && { isUnpositioned }),
    json: () => afterNumber(event),
  }
}

/** Caches the JSON text for all readers. */
function shared(item: FeedItem): FeedItem {
  let json: string | undefined
  return { ...item, json: () => (json ??= item.json()) }
}

function afterNumber(event: AgentEvent): string {
  const { seq: _, ...rest } = event
  return JSON.stringify(rest).slice(1)
}
