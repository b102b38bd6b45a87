import type { AgentEvent } from '@provost/core'
import { childKey, hasTrait } from '@provost/core'

import type { Cursor } from './cursor.ts'
import { mostChildren, writeCursor } from './cursor.ts'
import type { FeedItem } from './event-feed.ts'
import { feedItem } from './event-feed.ts'
import type { EventPosition } from './event-position.ts'
import { compare, origin } from './event-position.ts'

/** An event as one reader receives it, under an id from which any process can resume. */
export interface Sent {
  readonly item: FeedItem
  readonly event: AgentEvent
  readonly id?: string
}

/** The position of one reader. Events from the feed, the logs and the transient buffer reach the reader once each. */
export interface ReadCursor {
  readonly cursor: Cursor
  /** Position in a log; undefined for the log of an unknown child. */
  at(log: string): EventPosition | undefined
  /** Records that a child runs whose events the reader may not have received. */
  opened(log: string): void
  /**
   * Returns the event to send, with the cursor after it; undefined if the reader has received it.
   *
   * @param torn events may be missing before it. No more deltas of an incomplete text are sent: its end has the whole
   * text.
   */
  take(item: FeedItem, torn?: boolean): Sent | undefined
}

interface Child {
  readonly position: EventPosition
  readonly runId?: string
}

/** Creates the position of a reader that starts at a cursor. */
export function readCursor(sessionId: string, start: Cursor): ReadCursor {
  let { root } = start
  const children = new Map<string, Child>([...start.children].map(([key, position]) => [key, { position }]))
  /** Answers whose start was sent, and answers with a missing delta. */
  const begun = new Set<string>()
  const broken = new Set<string>()

  function at(log: string): EventPosition | undefined {
    return log === sessionId ? root : children.get(childKey(log) ?? '')?.position
  }

  function advance({ log, event }: FeedItem, position: EventPosition): void {
    if (log === sessionId) root = position
    else {
      const key = childKey(log)
      if (key !== undefined) children.set(key, { position, runId: event.runId })
    }
    // The end of a call ends the runs below it, and the end of a run ends its children.
    if (hasTrait(event, 'endsCall'))
      leave(({ runId = '' }) => runId === event.callId || runId.startsWith(`${event.callId}/`))
    else if (event.type === 'agent.end' && event.parents.length === 0 && event.status !== 'suspended') leave(() => true)
  }

  function leave(over: (child: Child) => boolean): void {
    for (const [key, child] of children) if (over(child)) children.delete(key)
  }

  function cursor(): Cursor {
    return { root, children: new Map([...children].map(([key, { position }]) => [key, position])) }
  }

  function idOf({ event, position, isUnpositioned }: FeedItem): string | undefined {
    if (!position || isUnpositioned || children.size > mostChildren) return undefined
    if (children.size === 0 && event.id.startsWith(sessionId)) return event.id
    return writeCursor(sessionId, cursor())
  }

  return {
    get cursor() {
      return cursor()
    },
    at,
    opened(log) {
      const key = childKey(log)
      if (key !== undefined && !children.has(key)) children.set(key, { position: origin })
    },
    take(item, torn = false) {
      const { log, event, position, sessionPosition } = item
      if (!position) return { item, event }
      const had = at(log)
      if (had && compare(position, had) <= 0) {
        note(event)
        return undefined
      }
      // The reader is past this event and does not know the child: it has received the child's end.
      if (!had && sessionPosition && compare(sessionPosition, root) < 0) return undefined
      if (item.isUnpositioned) {
        if (event.type === 'message.start' && begun.has(answerOf(event))) return undefined
        return { item, event }
      }
      const answer = isPiece(event) ? answerOf(event) : undefined
      if (torn && answer !== undefined && event.type !== 'message.start' && isGap(position, had)) broken.add(answer)
      note(event)
      if (answer !== undefined && broken.has(answer)) return undefined
      advance(item, position)
      const id = idOf(item)
      return { item, event, ...(id !== undefined && { id }) }
    },
  }

  function note(event: AgentEvent): void {
    if (event.type === 'message.start') begun.add(answerOf(event))
    else if (event.type === 'message.end') {
      begun.delete(answerOf(event))
      broken.delete(answerOf(event))
    }
  }
}

/** Whether transient events are missing before this one. They are numbered from 0 after each entry. */
function isGap({ offset, n, passing }: EventPosition, had: EventPosition | undefined): boolean {
  if (!passing) return false
  return had?.passing && had.offset === offset ? n > had.n + 1 : n > 0
}

type Piece = Extract<AgentEvent, { readonly messageId: string; readonly attempt: number }>

/** Whether an event is a delta of an answer, whose end event has the whole text. */
function isPiece(event: AgentEvent): event is Piece {
  return 'messageId' in event && 'attempt' in event && event.type !== 'message.end'
}

function answerOf({ messageId, attempt }: { readonly messageId: string; readonly attempt: number }): string {
  return `${messageId}/${attempt}`
}

/** Characters of joined deltas at most: bounds the text that is built for a single reader. */
const longestJoined = 65_536

/** Joins adjacent deltas of one part, before they are numbered. */
export function joined(sent: readonly Sent[]): readonly Sent[] {
  if (sent.length < 2) return sent
  const out: Sent[] = []
  for (const one of sent) {
    const before = out.at(-1)
    const sum = before && lengthOf(before) < longestJoined && sumOf(before.event, one.event)
    if (sum) out[out.length - 1] = { ...one, event: sum, item: feedItem(sum, one.item.log, one.item) }
    else out.push(one)
  }
  return out
}

function lengthOf({ event }: Sent): number {
  return 'delta' in event && event.delta !== undefined ? event.delta.length : 0
}

/** Joins two deltas of one part; undefined for other events. */
export function sumOf(a: AgentEvent, b: AgentEvent): AgentEvent | undefined {
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
