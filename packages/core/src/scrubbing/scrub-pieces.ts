import { shortestPart } from '../secrets/secret-encodings.ts'
import { secretSpans } from '../secrets/secret-finder.ts'
import type { SecretIndex } from '../secrets/secret-index.ts'
import { secretToken } from '../secrets/secret.ts'
import { escapePointer, isRecord } from '../values/json.ts'
import type { Json } from '../values/json.ts'
import { cutIn } from './scrub-stream.ts'

/**
 * Scrubs JSON that arrives in pieces. Texts at the same place of consecutive pieces count as one text. A piece that ends
 * with the possible beginning of a secret is held until the next one arrives.
 */
export interface ScrubPieces {
  push(data: Json): void
  /** Emits the held pieces, because no piece follows. */
  end(): void
}

/** How the pieces are scrubbed, and where they go. */
export interface ScrubPiecesOptions {
  /** Returns the index of secrets; undefined while there are none. */
  index(): SecretIndex | undefined
  scrubJson(data: Json): Json
  tell(data: Json): void
}

/** A span of a text that is hidden. */
interface Hidden {
  readonly start: number
  readonly end: number
  readonly token: string
}

interface Piece {
  readonly data: Json
  /** By the place of the text. */
  readonly hidden: Map<string, Hidden[]>
  /** Places whose text may end with the beginning of a secret. */
  readonly open: Set<string>
  told: boolean
}

/** The text of a piece, as a span of the text of its place. */
interface Segment {
  readonly piece: Piece
  /** Negative where its beginning is no longer kept. */
  readonly start: number
  readonly end: number
}

/** The end of the text at a place. */
interface Place {
  readonly text: string
  readonly segments: readonly Segment[]
}

/** The limit of held pieces. Only empty texts can exceed it. */
const mostWaiting = 64

/** Returns a scrubber of pieces. */
export function scrubPieces({ index, scrubJson, tell }: ScrubPiecesOptions): ScrubPieces {
  const waiting: Piece[] = []
  let places = new Map<string, Place>()

  function release(all: boolean): void {
    const due = all ? waiting.length : dueOf(waiting)
    for (const piece of waiting.splice(0, due)) {
      // Over the limit, the possible beginning of a secret is left out.
      if (!all) for (const at of piece.open) hide(piece, at, places.get(at)?.segments ?? [])
      piece.told = true
      tell(scrubJson(piece.hidden.size === 0 ? piece.data : shown(piece.data, '', piece.hidden)))
    }
  }

  return {
    push(data) {
      const secrets = index()
      const piece: Piece = { data, hidden: new Map(), open: new Set(), told: false }
      const next = new Map<string, Place>()
      if (secrets && secrets.longest > 0) {
        eachText(data, '', (at, text) => next.set(at, joined(secrets, places.get(at), at, text, piece)))
      }
      // A place that is absent from this piece starts a new text.
      for (const [at, { segments }] of places) {
        if (!next.has(at)) for (const segment of segments) segment.piece.open.delete(at)
      }
      places = next
      waiting.push(piece)
      release(false)
    },
    end() {
      release(true)
      places = new Map()
    },
  }
}

/** Returns how many held pieces can be emitted: all before the first open one, and those over the limit. */
function dueOf(waiting: readonly Piece[]): number {
  const first = waiting.findIndex(({ open }) => open.size > 0)
  return Math.max(first < 0 ? waiting.length : first, waiting.length - mostWaiting)
}

/** Adds a text to its place, marks the secrets in it, and marks the pieces that have to wait for the next one. */
function joined(secrets: SecretIndex, before: Place | undefined, at: string, text: string, piece: Piece): Place {
  const { text: kept, segments: earlier } = before ?? { text: '', segments: [] }
  const whole = kept + text
  const segments = [...earlier, { piece, start: kept.length, end: whole.length }]
  for (const { start, end, name } of secretSpans(secrets, whole)) {
    let token = secretToken(name)
    for (const segment of segments) {
      if (segment.piece.told || segment.end <= start || segment.start >= end) continue
      mark(segment.piece, at, {
        start: Math.max(start, segment.start) - segment.start,
        end: Math.min(end, segment.end) - segment.start,
        token,
      })
      token = ''
    }
  }
  const from = cutIn(secrets, whole)
  // Most texts end with the first letter of some secret. So short a beginning is emitted, unless it is a whole secret.
  const waits = from < whole.length && (whole.length - from >= shortestPart || from <= kept.length)
  const left: Segment[] = []
  for (const segment of segments) {
    const open = waits && segment.end > from
    if (open && !segment.piece.told) segment.piece.open.add(at)
    else segment.piece.open.delete(at)
    if (segment.end > from) left.push({ ...segment, start: segment.start - from, end: segment.end - from })
  }
  return { text: whole.slice(from), segments: left }
}

function mark(piece: Piece, at: string, hidden: Hidden): void {
  const known = piece.hidden.get(at)
  if (!known) piece.hidden.set(at, [hidden])
  else if (!known.some(({ start, end }) => start === hidden.start && end === hidden.end)) known.push(hidden)
}

function hide(piece: Piece, at: string, segments: readonly Segment[]): void {
  for (const segment of segments) {
    if (segment.piece !== piece) continue
    const start = Math.max(0, segment.start) - segment.start
    mark(piece, at, { start, end: segment.end - segment.start, token: '…' })
  }
}

function eachText(data: Json | undefined, at: string, found: (at: string, text: string) => void): void {
  if (typeof data === 'string') found(at, data)
  else if (isList(data)) for (const [index, item] of data.entries()) eachText(item, `${at}/${index}`, found)
  else if (isRecord(data))
    for (const [key, item] of Object.entries(data)) eachText(item, `${at}/${escapePointer(key)}`, found)
}

function shown(data: Json, at: string, hidden: ReadonlyMap<string, readonly Hidden[]>): Json {
  if (typeof data === 'string') return without(data, hidden.get(at) ?? [])
  if (isList(data)) return data.map((item, index) => shown(item, `${at}/${index}`, hidden))
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(
    Object.entries(data).map(([key, item]) => [key, item && shown(item, `${at}/${escapePointer(key)}`, hidden)]),
  )
}

function without(text: string, hidden: readonly Hidden[]): string {
  let made = ''
  let from = 0
  for (const { start, end, token } of hidden.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (start >= from) made += text.slice(from, start) + token
    from = Math.max(from, end)
  }
  return made + text.slice(from)
}

function isList(data: Json | undefined): data is readonly Json[] {
  return Array.isArray(data)
}
