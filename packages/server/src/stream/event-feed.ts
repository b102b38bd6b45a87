import type { AgentEvent } from '@provost/core'

import type { Outward } from '../http/public-errors.ts'
import type { Cursor } from './cursor.ts'
import { childKey } from './cursor.ts'
import type { EventPosition } from './event-position.ts'
import { compare, placeOf } from './event-position.ts'

/** An event on its way to clients. */
export interface FeedItem {
  readonly event: AgentEvent
  /** Of the session, or of the child that the event is of. */
  readonly log: string
  /** Absent where nobody can come back to it. */
  readonly position?: EventPosition
  /** How far the session's own log was when it happened. */
  readonly under?: EventPosition
  /** It shares its place with the event behind it, and comes again with that. */
  readonly unmarked?: true
  /** All of the event but its number, which is each reader's own. */
  json(): string
}

/** The events of a session that goes on in this process: the last of them, and whoever listens. */
export interface EventFeed {
  push(event: AgentEvent, offset: () => number): void
  /** What is kept behind a cursor, with some of what lies before it; undefined where something behind it is not kept. */
  since(cursor: Cursor): readonly FeedItem[] | undefined
  kept(): readonly FeedItem[]
  /** Nothing goes on: few are kept, for those who were just cut off. */
  rest(): void
  /** Nothing more is pushed: what a run says of being left here is not for clients. */
  mute(): void
  /** @returns stops listening. */
  listen(listener: (item: FeedItem) => void): () => void
  readonly listeners: number
}

/** Events about a wait bear its token as their id; each is the first of its entry. */
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
 * @param outward makes of each event what clients may have of it.
 * @param pass is told of each event before anybody else.
 */
export function createEventFeed(
  sessionId: string,
  keep: number,
  outward: Outward,
  pass?: (item: FeedItem) => void,
): EventFeed {
  let items: FeedItem[] = []
  let muted = false
  let under: EventPosition | undefined
  /** Logs by the runs that write them. */
  const logs = new Map<string, string>()
  const listeners = new Set<(item: FeedItem) => void>()

  function itemOf(event: AgentEvent, offset: () => number): FeedItem {
    const waits = ofWait.has(event.type)
    const place = waits ? undefined : placeOf(event.id)
    if (place && event.parents.length > 0 && !logs.has(event.runId)) logs.set(event.runId, place.log)
    const log = event.parents.length === 0 ? sessionId : (place?.log ?? logs.get(event.runId) ?? sessionId)
    const position = waits ? { offset: offset(), n: 0, passing: false } : place?.position
    if (log === sessionId) under = position ?? under
    return shared(feedItem(outward.event(event), log, { position, ...(log !== sessionId && { under }) }))
  }

  return {
    push(event, offset) {
      if (muted) return
      const item = itemOf(event, offset)
      pass?.(item)
      items.push(item)
      // Cut now and then, not each time.
      if (items.length > keep * 2) items = items.slice(-keep)
      for (const listener of listeners) listener(item)
    },
    since({ root, children }) {
      const wanted = new Map([[sessionId, root], ...[...children].filter(([, { offset }]) => offset > 0)])
      for (let index = items.length - 1; index >= 0; index--) {
        const { log, position } = items[index] ?? {}
        if (log === undefined || !position) continue
        const key = log === sessionId ? log : (childKey(log) ?? '')
        const at = wanted.get(key)
        if (at && compare(at, position) === 0) wanted.delete(key)
        if (wanted.size === 0) return items.slice(index)
      }
      return undefined
    },
    kept: () => items.slice(),
    rest() {
      // Without their texts.
      items = items.slice(-keptAtRest).map((item) => feedItem(item.event, item.log, item))
      logs.clear()
    },
    mute() {
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
    under,
    unmarked,
  }: {
    readonly position?: EventPosition | undefined
    readonly under?: EventPosition | undefined
    readonly unmarked?: boolean
  },
): FeedItem {
  return {
    event,
    log,
    ...(position && { position }),
    ...(under && { under }),
    ...(unmarked && { unmarked }),
    json: () => afterNumber(event),
  }
}

/** Its text is made once, however many read it. */
function shared(item: FeedItem): FeedItem {
  let json: string | undefined
  return { ...item, json: () => (json ??= item.json()) }
}

function afterNumber(event: AgentEvent): string {
  const { seq: _, ...rest } = event
  return JSON.stringify(rest).slice(1)
}
