import type { AgentEvent } from '@provost/core'

import type { Position } from './position.ts'
import { eventId, positionIn } from './position.ts'

/** An event on its way to clients. */
export interface FeedItem {
  readonly event: AgentEvent
  /** Absent for the events of children, which have logs of their own. */
  readonly position?: Position
  /** Nobody can come back to it: it shares its place with the event behind it, and comes again with that. */
  readonly unmarked?: true
  /** All of the event but its number, which is each reader's own. */
  json(): string
}

/** The events of a session that goes on in this process: the last of them, and whoever listens. */
export interface Feed {
  push(event: AgentEvent, offset: () => number): void
  /** What is kept behind a position; undefined where that is not known any more. */
  since(position: Position): readonly FeedItem[] | undefined
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

export function createFeed(sessionId: string, keep: number): Feed {
  let items: FeedItem[] = []
  let muted = false
  const listeners = new Set<(item: FeedItem) => void>()

  function positionOf(event: AgentEvent, offset: () => number): Position | undefined {
    if (event.parents.length === 0 && ofWait.has(event.type)) return { offset: offset(), n: 0, passing: false }
    return positionIn(sessionId, event.id)
  }

  return {
    push(event, offset) {
      if (muted) return
      const position = positionOf(event, offset)
      const item = feedItem(event, position)
      items.push(item)
      // Cut now and then, not each time.
      if (items.length > keep * 2) items = items.slice(-keep)
      for (const listener of listeners) listener(item)
    },
    since(position) {
      const index = items.findLastIndex((item) => item.position !== undefined && same(item.position, position))
      return index < 0 ? undefined : items.slice(index + 1)
    },
    kept: () => items,
    rest() {
      items = items.slice(-keptAtRest)
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

function same(a: Position, b: Position): boolean {
  return a.offset === b.offset && a.n === b.n && a.passing === b.passing
}

export function feedItem(event: AgentEvent, position: Position | undefined, unmarked?: true): FeedItem {
  let json: string | undefined
  return {
    event,
    ...(position && { position }),
    ...(unmarked && { unmarked }),
    json: () => (json ??= afterNumber(event)),
  }
}

function afterNumber(event: AgentEvent): string {
  const { seq: _, ...rest } = event
  return JSON.stringify(rest).slice(1)
}

/** The event as a frame of server-sent events, under a reader's own number. */
export function frameOf(sessionId: string, { event, position, unmarked, json }: FeedItem, seq: number): string {
  const id = position && !unmarked ? `id: ${lineOf(eventId(sessionId, position))}\n` : ''
  return `${id}event: ${event.type}\ndata: {"seq":${seq},${json()}\n\n`
}

/** No field of a frame can hold the end of a line. */
function lineOf(text: string): string {
  return text.replaceAll(/[\r\n\0]/gu, '')
}
