import { HttpError } from '../http/http-error.ts'
import type { EventPosition } from './event-position.ts'
import { origin, placeOf, readPosition, writePosition } from './event-position.ts'

/**
 * What a reader has had of a session: how far it is in the session's log, and in the logs of the children that it has
 * not seen the end of. Whatever process is asked can tell by it which events come next.
 */
export interface Cursor {
  readonly root: EventPosition
  /** By {@link childKey}. */
  readonly children: ReadonlyMap<string, EventPosition>
}

/** Of somebody who has had nothing. */
export const atBeginning: Cursor = Object.freeze({ root: origin, children: new Map<string, EventPosition>() })

export function cursorAt(root: EventPosition): Cursor {
  return { root, children: atBeginning.children }
}

/** How many children a cursor names at most: it has to fit into a header. */
export const mostChildren = 256

/** @returns undefined for the log of no child. */
export function childKey(log: string): string | undefined {
  return /\/child\/([0-9a-f]{12})[0-9a-f]{20}$/u.exec(log)?.[1]
}

/** As the id of a server-sent event: that of the last event of the session's own log, and where its children stand. */
export function writeCursor(sessionId: string, { root, children }: Cursor): string {
  let text = `${sessionId}:${writePosition(root)}`
  for (const [key, position] of children) text += ` ${key}=${writePosition(position)}`
  return text
}

/**
 * What a client says it had last.
 *
 * @throws HttpError `invalid-event-id`
 */
export function givenCursor(sessionId: string, id: string): Cursor {
  const cursor = id.length > 10_000 ? undefined : readCursor(sessionId, id)
  if (cursor) return cursor
  throw new HttpError(400, {
    code: 'invalid-event-id',
    message: 'This is not the id of an event of this session.',
    hint: 'Send the id of the last event that came, unchanged, or none.',
  })
}

function readCursor(sessionId: string, id: string): Cursor | undefined {
  const words = id.split(' ')
  const children = new Map<string, EventPosition>()
  for (let word = words.at(-1) ?? ''; /^[0-9a-f]{12}=/u.test(word); word = words.at(-1) ?? '') {
    words.pop()
    const position = readPosition(word.slice(13))
    if (!position) return undefined
    children.set(word.slice(0, 12), position)
  }
  const own = placeOf(words.join(' '))
  if (own?.log !== sessionId) return undefined
  return { root: own.position, children: new Map([...children].toReversed()) }
}
