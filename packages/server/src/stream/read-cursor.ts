import type { AgentEvent } from '@provost/core'

import type { Cursor } from './cursor.ts'
import { childKey, mostChildren, writeCursor } from './cursor.ts'
import type { FeedItem } from './event-feed.ts'
import { feedItem } from './event-feed.ts'
import type { EventPosition } from './event-position.ts'
import { compare, origin } from './event-position.ts'

/** An event as one reader gets it: under an id by which it can come back, wherever to. */
export interface Sent {
  readonly item: FeedItem
  readonly event: AgentEvent
  readonly id?: string
}

/** How far one reader is: events come to it from the feed, from the logs and from what passes beside them, each once. */
export interface ReadCursor {
  readonly cursor: Cursor
  /** How far it is in a log; undefined for that of a child of which it knows nothing. */
  at(log: string): EventPosition | undefined
  /** A child goes on, of which it may have had nothing yet. */
  opened(log: string): void
  /**
   * An event as it is sent, and what its reader is to have had by then; undefined where the reader has had it.
   *
   * @param torn something may be missing in front of it: of a text whose middle is missing nothing more is sent, as the
   * whole comes at its end.
   */
  take(item: FeedItem, torn?: boolean): Sent | undefined
}

interface Child {
  readonly position: EventPosition
  readonly runId?: string
}

/** A place in a session, from which a reader goes on. */
export function readCursor(sessionId: string, start: Cursor): ReadCursor {
  let { root } = start
  const children = new Map<string, Child>([...start.children].map(([key, position]) => [key, { position }]))
  /** Answers whose start it was sent, and those of which a piece is missing. */
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
    // What ran below a call is over when the call is, and what ran below a run when the run is.
    if (isCallEnd(event)) leave(({ runId = '' }) => runId === event.callId || runId.startsWith(`${event.callId}/`))
    else if (event.type === 'agent.end' && event.parents.length === 0 && event.status !== 'suspended') leave(() => true)
  }

  function leave(over: (child: Child) => boolean): void {
    for (const [key, child] of children) if (over(child)) children.delete(key)
  }

  function cursor(): Cursor {
    return { root, children: new Map([...children].map(([key, { position }]) => [key, position])) }
  }

  function idOf({ event, position, unmarked }: FeedItem): string | undefined {
    if (!position || unmarked || children.size > mostChildren) return undefined
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
      const { log, event, position, under } = item
      if (!position) return { item, event }
      const had = at(log)
      if (had && compare(position, had) <= 0) {
        note(event)
        return undefined
      }
      // It knows nothing of this child, and was further when this happened: it saw its end.
      if (!had && under && compare(under, root) < 0) return undefined
      if (item.unmarked) {
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

/** What passed after an entry counts from 0. */
function isGap({ offset, n, passing }: EventPosition, had: EventPosition | undefined): boolean {
  if (!passing) return false
  return had?.passing && had.offset === offset ? n > had.n + 1 : n > 0
}

type Piece = Extract<AgentEvent, { readonly messageId: string; readonly attempt: number }>

/** Whether an event is of an answer on its way: its end comes whole in any case. */
function isPiece(event: AgentEvent): event is Piece {
  return 'messageId' in event && 'attempt' in event && event.type !== 'message.end'
}

function answerOf({ messageId, attempt }: { readonly messageId: string; readonly attempt: number }): string {
  return `${messageId}/${attempt}`
}

function isCallEnd(
  event: AgentEvent,
): event is Extract<AgentEvent, { readonly callId: string; readonly toolName: string }> {
  return event.type === 'tool.execute.end' || event.type === 'tool.execute.error' || event.type === 'tool.skipped'
}

/** Characters of deltas that are joined: what is made for one reader alone stays short. */
const longestJoined = 65_536

/** Deltas of one part side by side as one, before they are numbered. */
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

/** Two deltas of one part as one; undefined for what is none. */
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
