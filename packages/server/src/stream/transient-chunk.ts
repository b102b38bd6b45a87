import type { AgentEvent, TransientPiece } from '@provost/core'
import { isEventType, isRecord } from '@provost/core'

import type { FeedItem } from './event-feed.ts'
import { feedItem } from './event-feed.ts'
import { sumOf } from './read-cursor.ts'

/** Consecutive transient events after one entry, collected before they are stored. */
export interface TransientChunk {
  readonly log: string
  readonly offset: number
  readonly from: number
  to: number
  length: number
  /** A delta that is joined to the event before it is stored as its number and text. */
  readonly parts: (Part | Delta)[]
}

interface Part {
  readonly n: number
  readonly event: Omit<AgentEvent, 'seq' | 'id'>
}
type Delta = readonly [n: number, delta: string]

/** Characters of a chunk's body at most, except for a single longer event. */
const longest = 65_536

/** @returns the chunk that holds the event: the given one if the event follows it, else a new one. */
export function addTo(
  open: TransientChunk | undefined,
  last: AgentEvent | undefined,
  { event, log, position }: FeedItem,
): TransientChunk | undefined {
  if (!position?.passing) return undefined
  const { offset, n } = position
  const fits = open?.offset === offset && open.to + 1 === n && open.length < longest
  const piece: TransientChunk = fits ? open : { log, offset, from: n, to: n, length: 0, parts: [] }
  const joins = fits && last && 'delta' in event && event.delta !== undefined && sumOf(last, event) !== undefined
  if (joins) piece.parts.push([n, event.delta ?? ''])
  else {
    const { seq: _, id: __, ...rest } = event
    piece.parts.push({ n, event: rest })
  }
  piece.length += joins ? event.delta.length + 10 : 400
  piece.to = n
  return piece
}

export function closed({ log, offset, from, to, parts }: TransientChunk): TransientPiece {
  return { log, offset, from, to, body: JSON.stringify(parts) }
}

/** Returns the events of a stored chunk. */
export function eventsIn({ log, offset, body }: TransientPiece): readonly FeedItem[] {
  const parts: unknown = JSON.parse(body)
  if (!Array.isArray(parts)) return []
  let before: AgentEvent | undefined
  return parts.flatMap((part: unknown) => {
    const place = { seq: 0, id: '' }
    let n: unknown
    if (Array.isArray(part)) {
      n = part[0]
      before = before && Object.assign({}, before, place, { delta: String(part[1]) })
    } else if (isRecord(part)) {
      n = part['n']
      const made: unknown = Object.assign({}, part['event'], place)
      before = isEvent(made) ? made : undefined
    }
    if (!before || typeof n !== 'number') return []
    const event: AgentEvent = Object.freeze({ ...before, id: `${log}:${offset}~${n}` })
    return [feedItem(event, log, { position: { offset, n, passing: true } })]
  })
}

function isEvent(value: unknown): value is AgentEvent {
  return isRecord(value) && typeof value['type'] === 'string' && isEventType(value['type'])
}
